"""Two Django models on a database in memory. Importing this module configures Django for the process."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import django
from django.db import models

settings: Any = import_module("django.conf").settings
if not settings.configured:
    here = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:authors?mode=memory&cache=shared"}}
    apps = ["django.contrib.auth", "django.contrib.contenttypes"]
    settings.configure(DATABASES=here, INSTALLED_APPS=apps, DEFAULT_AUTO_FIELD="django.db.models.AutoField")
    django.setup()
_delete: Any = vars(models)["CASCADE"]


class Author(models.Model):
    name: Any = models.CharField(max_length=40)
    password: Any = models.CharField(max_length=40, default="hush")
    books: Any

    class Meta:
        app_label = "library"

    def greeting(self) -> str:
        return f"Dear {self.name}"


class Book(models.Model):
    title: Any = models.CharField(max_length=40)
    author: Any = models.ForeignKey(Author, on_delete=_delete, related_name="books")
    readers: Any = models.ManyToManyField(Author, related_name="+")

    class Meta:
        app_label = "library"
