from .house_style import (
    style as style,
    size as size,
    shorten as shorten,
    draw_lines as draw_lines,
    draw_band as draw_band,
    plain_ticks as plain_ticks,
    mark_published as mark_published,
    mark_source as mark_source,
    TRUE as TRUE,
    PAPER as PAPER,
    OURS as OURS,
    OTHER as OTHER,
    PUBLISHED as PUBLISHED,
    DASHES as DASHES,
    BOUND as BOUND,
)
from .saving import (
    save as save,
    save_table as save_table,
    show_table as show_table,
    save_numbers as save_numbers,
)
from .price import (
    draw_price as draw_price,
)
from .released_chain import (
    draw_release as draw_release,
)
from .graphs import (
    draw_automaton as draw_automaton,
    draw_chain as draw_chain,
)
from .explore import (
    Moving as Moving,
    embedded as embedded,
    save_moving as save_moving,
)
from .overview import (
    odds_chart as odds_chart,
    draw_releases as draw_releases,
    manhattan as manhattan,
    claims_chart as claims_chart,
)
from .densities import (
    beta_densities as beta_densities,
)
from .matrix_dirichlet import (
    draw_traffic as draw_traffic,
    draw_walks as draw_walks,
    stationary_errors as stationary_errors,
)
from .data_driven_markov import (
    draw_two_cities as draw_two_cities,
    draw_cities as draw_cities,
    draw_grades as draw_grades,
    draw_stationary as draw_stationary,
    draw_sampled_delta as draw_sampled_delta,
)
from .permute_and_flip import (
    COLOURS as COLOURS,
    word_chart as word_chart,
    draw_drives as draw_drives,
    draw_two_drives as draw_two_drives,
    draw_competition as draw_competition,
    draw_counts as draw_counts,
    draw_errors as draw_errors,
)
from .mdp_policy_synthesis import (
    K_TICKS as K_TICKS,
    draw_startups as draw_startups,
    draw_forecasts as draw_forecasts,
    draw_plans as draw_plans,
    plan_chart as plan_chart,
)
from .boltzmann_histograms import (
    walk_chart as walk_chart,
    draw_candidates as draw_candidates,
    draw_samples as draw_samples,
    draw_two_chains as draw_two_chains,
    draw_replications as draw_replications,
)
from . import (
    explore as explore,
    overview as overview,
    house_style as house_style,
    saving as saving,
    maps as maps,
    graphs as graphs,
    price as price,
    released_chain as released_chain,
    densities as densities,
    matrix_dirichlet as matrix_dirichlet,
    data_driven_markov as data_driven_markov,
    permute_and_flip as permute_and_flip,
    mdp_policy_synthesis as mdp_policy_synthesis,
    boltzmann_histograms as boltzmann_histograms,
)
