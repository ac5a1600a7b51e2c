"""Private data in generated records: what is found by `PrivateText`, with and without names, and by Presidio.

`people_records` makes the records from fixed seeds, `finders` runs the programs, `scores` counts. All of it runs in an
environment of its own (`finders` as a program), which has Faker, Presidio and spaCy; nothing else here imports them.
"""
