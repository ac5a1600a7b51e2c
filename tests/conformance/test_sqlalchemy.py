"""`sqlalchemy`: engine, statements and mapped objects on the host, used from the guest as its tutorial does."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.pool import StaticPool
from tests.cells import failure, value


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    posts: Mapped[list[Post]] = relationship(back_populates="author", order_by="Post.id")

    def shout(self) -> str:
        return self.name.upper()


class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.id"))
    author: Mapped[User] = relationship(back_populates="posts")


def an_engine() -> sa.Engine:
    engine = sa.create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
    )
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        ada = User(name="ada", posts=[Post(title="engines"), Post(title="numbers")])
        session.add_all([ada, User(name="bob")])
        session.commit()
    return engine


async def core(code: str) -> Any:
    return await value(code, engine=an_engine(), users=Base.metadata.tables["users"], sa=sa)


async def orm(code: str) -> Any:
    engine = an_engine()
    with Session(engine) as session:
        return await value(code, session=session, sa=sa, User=User, Post=Post)


# --- core ---


async def test_text_with_parameters_gives_rows_by_name_and_by_number() -> None:
    code = """
        with engine.connect() as conn:
            rows = conn.execute(sa.text("select id, name from users where id > :low order by id"), {"low": 0}).all()
        row = rows[0]
        number, name = row
        len(rows), row.name, row[1], tuple(row), (number, name), row == (1, "ada")
    """
    assert await core(code) == (2, "ada", "ada", (1, "ada"), (1, "ada"), True)


async def test_a_select_is_built_from_table_objects() -> None:
    code = """
        query = sa.select(users.c.name).where((users.c.id > 0) & (users.c.name != "zed")).order_by(users.c.name.desc())
        with engine.connect() as conn:
            names = [row.name for row in conn.execute(query)]
            count = conn.execute(sa.select(sa.func.count()).select_from(users)).scalar_one()
            as_dicts = [dict(m) for m in conn.execute(sa.select(users)).mappings()]
        names, count, as_dicts[0], [c.name for c in users.columns]
    """
    assert await core(code) == (["bob", "ada"], 2, {"id": 1, "name": "ada"}, ["id", "name"])


async def test_a_statement_prints_its_sql() -> None:
    sql = await core("str(sa.select(users.c.id).where(users.c.name.like('a%')))")
    assert sql.split() == "SELECT users.id FROM users WHERE users.name LIKE :name_1".split()


async def test_begin_commits_and_an_exception_rolls_back() -> None:
    code = """
        with engine.begin() as conn:
            conn.execute(sa.insert(users), [{"name": "cy"}, {"name": "di"}])
        try:
            with engine.begin() as conn:
                conn.execute(sa.delete(users))
                raise KeyError("stop")
        except KeyError:
            pass
        with engine.connect() as conn:
            transaction = conn.begin()
            conn.execute(sa.update(users).values(name=users.c.name + "!"))
            transaction.rollback()
            found = conn.execute(sa.select(users.c.name)).scalars().all()
        found
    """
    assert await core(code) == ["ada", "bob", "cy", "di"]


async def test_the_inspector_names_the_tables() -> None:
    assert await core("sorted(sa.inspect(engine).get_table_names())") == ["posts", "users"]


async def test_errors_are_caught_by_the_classes_of_the_bound_exception_module() -> None:
    code = """
        caught = []
        for query in ("select nope", "insert into users (name) values ('ada')"):
            try:
                with engine.begin() as conn:
                    conn.execute(sa.text(query))
            except exc.IntegrityError as error:
                caught.append("integrity")
            except exc.SQLAlchemyError as error:
                caught.append(type(error).__name__)
        caught
    """
    assert await value(code, engine=an_engine(), sa=sa, exc=exc) == ["OperationalError", "integrity"]


@pytest.mark.parametrize("name", ["url", "pool", "dialect", "raw_connection"])
async def test_an_engines_url_and_ways_round_it_are_hidden(name: str) -> None:
    assert (await failure(f"engine.{name}", engine=an_engine())).type == "NotPublic"


# --- orm ---


async def test_mapped_objects_are_handles_with_their_columns_and_methods() -> None:
    code = """
        ada = session.get(User, 1)
        ada.id, ada.name, ada.shout(), isinstance(ada, User), session.get(User, 1) is ada
    """
    assert await orm(code) == (1, "ada", "ADA", True, True)


async def test_class_attributes_make_queries() -> None:
    code = """
        by_name = session.scalars(sa.select(User).where(User.name == "ada")).one()
        all_names = [user.name for user in session.scalars(sa.select(User).order_by(User.name.desc()))]
        pairs = session.execute(sa.select(User.name, Post.title).join(Post.author).order_by(Post.id)).all()
        some = session.query(User).filter(User.name.in_(["ada", "zed"])).count()
        by_name.id, all_names, [tuple(p) for p in pairs], some, session.query(User).filter_by(name="bob").first().id
    """
    assert await orm(code) == (1, ["bob", "ada"], [("ada", "engines"), ("ada", "numbers")], 1, 2)


async def test_relationships_are_loaded_when_they_are_touched() -> None:
    code = """
        ada = session.get(User, 1)
        post = ada.posts[0]
        [p.title for p in ada.posts], len(ada.posts), post.author is ada, post in ada.posts
    """
    assert await orm(code) == (["engines", "numbers"], 2, True, True)


async def test_the_guest_makes_objects_links_them_and_commits() -> None:
    code = """
        cy = User(name="cy")
        cy.posts.append(Post(title="first"))
        session.add(cy)
        session.add(Post(title="second", author=cy))
        session.commit()
        cy.id, [p.title for p in cy.posts], session.scalar(sa.select(sa.func.count()).select_from(Post))
    """
    assert await orm(code) == (3, ["first", "second"], 4)


async def test_rollback_takes_a_change_back_and_delete_removes() -> None:
    code = """
        ada = session.get(User, 1)
        ada.name = "adele"
        dirty = ada in session.dirty
        session.rollback()
        back = ada.name
        ada.name = "Ada"
        session.delete(ada.posts[1])
        session.commit()
        dirty, back, session.get(User, 1).name, len(ada.posts)
    """
    assert await orm(code) == (True, "ada", "Ada", 1)


async def test_a_transaction_block_commits() -> None:
    code = """
        with session.begin():
            session.add(User(name="eve"))
        session.scalar(sa.select(User.id).where(User.name == "eve"))
    """
    assert await orm(code) == 3


async def test_an_update_statement_changes_rows() -> None:
    code = """
        session.execute(sa.update(User).where(User.id == 2).values(name="rob"))
        session.commit()
        session.get(User, 2).name
    """
    assert await orm(code) == "rob"
