"""How vLLM sorts the layers into groups that share one pool of equal blocks."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil

from planner.core.engines.vllm.serving import Serving
from planner.core.engines.vllm.specs import Placed, Spec
from planner.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table: a block of the pool holds one page of each of them."""

    members: tuple[Placed, ...]
    specs: tuple[Spec, ...] = field(init=False, compare=False)
    whole_page: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """`specs` are the members', each once, `whole_page` a block of all layers: asked for at every number of requests that is tried."""
        object.__setattr__(self, "specs", tuple(dict.fromkeys(member.spec for member in self.members)))
        object.__setattr__(self, "whole_page", sum(member.spec.page_bytes for member in self.members))

    @property
    def first(self) -> Spec:
        return self.members[0].spec

    def page_bytes(self, layers: range) -> int:
        """Bytes of one block of those `layers` (a pipeline stage)."""
        return sum(member.spec.page_bytes for member in self.members if member.layer in layers)

    def reserved_blocks(self, tokens: int, serving: Serving) -> int:
        return max(spec.reserved_blocks(tokens, serving) for spec in self.specs)

    def held_blocks(self, tokens: int, serving: Serving) -> int:
        return max(spec.held_blocks(tokens, serving) for spec in self.specs)


def groups_of(placed: Sequence[Placed], serving: Serving) -> tuple[Group, ...]:
    """The groups of the whole model. Source: vLLM 0.32 v1/core/kv_cache_utils.py, get_kv_cache_groups."""
    if not placed:
        return ()
    if not serving.hybrid_manager:
        placed = _promoted(placed)
    if _uniform(placed):
        return (Group(tuple(placed)),)
    if serving.compressed:
        return _packed(placed)
    page = max(member.spec.page_bytes for member in placed)
    return _equal_pages([Placed(member.layer, member.spec.with_page(page)) for member in placed], serving)


def _uniform(placed: Iterable[Placed]) -> bool:
    return len({(member.spec.family, member.spec.block_size) for member in placed}) == 1


def _promoted(placed: Sequence[Placed]) -> list[Placed]:
    """Windows ignored, as without the hybrid manager. Source: _promote_local_kv_cache_specs."""
    full = {member.spec.block_size for member in placed if member.spec.family[0] == "full"}
    if _uniform(placed) or not full:
        return list(placed)
    block_size = full.pop() if len(full) == 1 else 0
    promoted = [Placed(member.layer, member.spec.promoted(block_size or member.spec.block_size)) for member in placed]
    if not _uniform(promoted):
        raise InputError(
            "vLLM cannot run this model with --disable-hybrid-kv-cache-manager: its layers cannot share one block table.",
            field="engine_args",
        )
    return promoted


def _equal_pages(placed: Sequence[Placed], serving: Serving) -> tuple[Group, ...]:
    """Each kind is split into groups of equal size. Source: _get_kv_cache_groups_uniform_page_size."""
    kinds: dict[Spec, list[Placed]] = defaultdict(list)
    for member in placed:
        kinds[member.spec].append(member)
    least, most = min(map(len, kinds.values())), max(map(len, kinds.values()))
    size = most if most < least * serving.rules.group_stretch else least
    return tuple(group for members in kinds.values() for group in _split(members, ceil(len(members) / size)))


def _split(members: Sequence[Placed], count: int) -> list[Group]:
    """`count` groups, dealt out in turn, so that every pipeline stage has its share of each."""
    return [Group(tuple(members[start::count])) for start in range(count)]


def _packed(placed: Sequence[Placed]) -> tuple[Group, ...]:
    """Groups of mixed pages, packed into a block one after the other. Source: _get_packed_kv_cache_groups."""
    buckets: dict[tuple[object, int], list[Placed]] = defaultdict(list)
    for member in placed:
        buckets[member.spec.family, member.spec.block_size].append(member)
    by_page = [_by_page(members) for members in buckets.values()]
    balanced = [pages for pages in by_page if len(set(map(len, pages))) == 1]
    floor = max((len(pages[0]) for pages in balanced if len(pages) > 1), default=0)
    repeats = _least_padding([len(pages[0]) for pages in balanced], floor) if floor else 0
    groups: list[Group] = []
    for pages in by_page:
        count = ceil(len(pages[0]) / repeats) if pages in balanced and repeats else 1
        patterns = list(zip(*pages, strict=True)) if count > 1 else [tuple(member for page in pages for member in page)]
        groups += [Group(tuple(member for pattern in patterns[start::count] for member in pattern)) for start in range(count)]
    return tuple(groups)


def _by_page(members: Iterable[Placed]) -> list[list[Placed]]:
    pages: dict[int, list[Placed]] = defaultdict(list)
    for member in members:
        pages[member.spec.page_bytes].append(member)
    return list(pages.values())


def _least_padding(counts: Sequence[int], floor: int) -> int:
    """The repeats per group that leave the fewest empty places, the larger on a tie. Source: _approximate_gcd."""
    return min(range(floor, max(counts) + 1), key=lambda size: (sum(-count % size for count in counts), -size))
