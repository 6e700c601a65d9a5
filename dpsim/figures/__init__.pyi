from .house_style import (
    style as style,
    size as size,
    mark_published as mark_published,
    mark_source as mark_source,
    save as save,
    save_table as save_table,
    ONE_COLUMN as ONE_COLUMN,
    TWO_COLUMNS as TWO_COLUMNS,
    TRUE as TRUE,
    PAPER as PAPER,
    OURS as OURS,
    OTHER as OTHER,
    PUBLISHED as PUBLISHED,
    BAND as BAND,
)
from .maps import (
    zone_shapes as zone_shapes,
    choropleth as choropleth,
    draw_network as draw_network,
    name_intersections as name_intersections,
    draw_walk as draw_walk,
)
from .graphs import (
    transitions as transitions,
    draw_automaton as draw_automaton,
    draw_chain as draw_chain,
)
from .words import (
    COLOURS as COLOURS,
    draw_neighbours as draw_neighbours,
    draw_bounds as draw_bounds,
    draw_errors as draw_errors,
    draw_reduction as draw_reduction,
    draw_against_optimum as draw_against_optimum,
)
from .decisions import (
    draw_startups as draw_startups,
    draw_values as draw_values,
    draw_costs as draw_costs,
    draw_banded as draw_banded,
)
from .controls import (
    is_live as is_live,
    control as control,
)
from . import house_style as house_style, maps as maps, graphs as graphs, controls as controls
from . import words as words, decisions as decisions
