"""What a recipe is: a YAML file that says how a published dataset is fetched, unpacked, converted and preprocessed."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from marius_lite.config.presets import PRESETS
from marius_lite.config.section import Bytes, Section
from marius_lite.preprocess.arguments import Arguments

FILE_OPTIONS = (
    "edges",
    "valid",
    "test",
    "features",
    "node_ids",
    "labels",
    "node_types",
    "train_nodes",
    "valid_nodes",
    "test_nodes",
)
"""The options of `preprocess` whose values are files."""
OURS = ("output", "overwrite", "memory", "partitions")
"""The options of `preprocess` that the command gives, not the recipe."""


def _plain_name(name: str) -> str:
    """Refuse a name that leads out of the folder in which the file is put."""
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name or str(path) in (".", ""):
        raise ValueError("a file's name inside the folder is needed, such as train.txt")
    return name


def _web_address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("only http:// and https:// addresses are fetched")
    return url


Name = Annotated[str, AfterValidator(_plain_name)]
Address = Annotated[str, AfterValidator(_web_address)]


class LicenceSection(Section):
    """What the publisher allows."""

    name: str = Field(min_length=1, description="its usual name, or that the publisher states none")
    url: Address | None = None
    accept: bool = Field(False, description="whether the terms must be accepted before anything is fetched")


class RemoteFile(Section):
    """A file to fetch. ``size``, ``sha256`` and ``md5`` are there only where somebody has published them."""

    name: Name
    urls: tuple[Address, ...] = Field(min_length=1, description="where the same file is, the first choice first")
    size: Bytes | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None


class ConversionSection(Section):
    """A file that `preprocess` cannot read, made one that it can (`fetch.convert`)."""

    by: Literal["pickled_columns", "array_columns", "text_matrix", "ranges"]
    sources: tuple[Name, ...] = ()
    to: Name
    keys: tuple[str, ...] = Field((), description="pickled_columns: the arrays of the dictionary that are the columns")
    range: tuple[int, int] | None = Field(None, description="ranges: the first number and the one after the last")


class PublishedSection(Section):
    """What the dataset must have once it is made. What is left out is not known from any publication."""

    nodes: PositiveInt | None = None
    nodes_at_most: PositiveInt | None = Field(None, description="where nodes without edges are counted in the publication")
    relations: PositiveInt | None = None
    edges: dict[Literal["train", "valid", "test", "all"], PositiveInt] = Field(default_factory=dict)
    labelled: dict[Literal["train", "valid", "test"], PositiveInt] = Field(default_factory=dict)
    classes: PositiveInt | None = None
    features: PositiveInt | None = None


class Recipe(Section):
    """How a published dataset becomes a dataset folder."""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    about: str = Field(min_length=1, description="one line")
    home: Address
    licence: LicenceSection
    bytes: Bytes | None = Field(None, description="about how much is downloaded, for the list")
    files: tuple[RemoteFile, ...] = Field(min_length=1)
    unpack: dict[Name, dict[Name, Name]] = Field(
        default_factory=dict, description="for an archive of `files`: each member that is needed, and what it is called here"
    )
    convert: tuple[ConversionSection, ...] = ()
    preprocess: dict[str, Any]
    counts: PublishedSection
    preset: Literal[tuple(PRESETS)]  # type: ignore[valid-type]
    tried: bool = Field(False, description="whether this recipe has ever been run against the servers that it names")
    note: str = ""

    @model_validator(mode="after")
    def _hangs_together(self) -> Recipe:
        names = [file.name for file in self.files]
        if len({*names}) < len(names):
            raise ValueError("two of `files` have one name")
        if strange := [archive for archive in self.unpack if archive not in names]:
            raise ValueError(f"`unpack` names {strange[0]}, which is none of `files`")
        there = {*names, *(name for members in self.unpack.values() for name in members.values())}
        for conversion in self.convert:
            if lacking := [name for name in conversion.sources if name not in there]:
                raise ValueError(f"`convert` reads {lacking[0]}, which nothing before it makes")
            there.add(conversion.to)
        known = {*Arguments.__annotations__} - {*OURS}
        if unknown := [key for key in self.preprocess if key not in known]:
            raise ValueError(f"`preprocess` has {unknown[0]}, which is none of its options that a recipe may give")
        if lacking := [name for name in self.inputs if name not in there]:
            raise ValueError(f"`preprocess` reads {lacking[0]}, which is neither fetched, unpacked nor converted")
        return self

    @property
    def inputs(self) -> list[str]:
        """The files that `preprocess` reads, by their names here."""
        given = [self.preprocess.get(option) or [] for option in FILE_OPTIONS]
        every = [str(name) for names in given for name in (names if isinstance(names, list) else [names])]
        return [name.partition(":")[0] for name in every]

    @property
    def size(self) -> int | None:
        """Bytes to download, where they are known."""
        sizes = [file.size for file in self.files]
        known = [size for size in sizes if size is not None]
        return self.bytes if len(known) < len(sizes) else sum(known)
