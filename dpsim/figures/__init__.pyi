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
from .zones import (
    compare_zones as compare_zones,
)
from .graphs import (
    transitions as transitions,
    draw_automaton as draw_automaton,
    draw_chain as draw_chain,
)
from .controls import (
    is_live as is_live,
    control as control,
)
from .walks import (
    draw_walks as draw_walks,
)
from .bars import (
    grouped_bars as grouped_bars,
)
from . import house_style as house_style, maps as maps, zones as zones, graphs as graphs, controls as controls
from . import walks as walks, bars as bars
