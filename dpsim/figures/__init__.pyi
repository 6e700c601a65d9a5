from .house_style import (
    style as style,
    size as size,
    looks as looks,
    shorten as shorten,
    add_band as add_band,
    draw_means as draw_means,
    plain_ticks as plain_ticks,
    mark_published as mark_published,
    mark_source as mark_source,
    round_up as round_up,
    save as save,
    save_table as save_table,
    show_table as show_table,
    save_numbers as save_numbers,
    TRUE as TRUE,
    PAPER as PAPER,
    OURS as OURS,
    OTHER as OTHER,
    PUBLISHED as PUBLISHED,
    DASHES as DASHES,
    BOUND as BOUND,
    BAND as BAND,
    BANDED as BANDED,
)
from .maps import (
    compare_zones as compare_zones,
    draw_trips as draw_trips,
)
from .price import (
    draw_price as draw_price,
)
from .graphs import (
    draw_automaton as draw_automaton,
    draw_chain as draw_chain,
)
from .explore import (
    Moving as Moving,
    embedded as embedded,
    slider as slider,
    note as note,
    save_moving as save_moving,
    manhattan as manhattan,
    which_mechanism as which_mechanism,
)
from .dirichlet import (
    beta_densities as beta_densities,
    stationary_errors as stationary_errors,
)
from .words import (
    COLOURS as COLOURS,
    neighbours as neighbours,
    draw_errors as draw_errors,
)
from .decisions import (
    K_TICKS as K_TICKS,
    draw_startups as draw_startups,
    draw_plans as draw_plans,
    plan_chart as plan_chart,
    draw_values as draw_values,
)
from .boltzmann_histograms import (
    walk_chart as walk_chart,
    draw_candidates as draw_candidates,
    draw_releases as draw_releases,
    draw_two_chains as draw_two_chains,
    draw_replications as draw_replications,
)
from . import (
    explore as explore,
    house_style as house_style,
    maps as maps,
    graphs as graphs,
    price as price,
    dirichlet as dirichlet,
    words as words,
    decisions as decisions,
    boltzmann_histograms as boltzmann_histograms,
)
