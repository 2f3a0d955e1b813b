"""``fermiclass explain``."""

from __future__ import annotations

import warnings
from pathlib import Path

import click
import numpy as np

from fermiclass.analysis.explain import Explanation, explain_all
from fermiclass.brought.joining import list_of
from fermiclass.catalog.source_names import find_source
from fermiclass.cli.app import SectionedCommand
from fermiclass.cli.folders import candidates_beside, load_folder, look_for, read_folder
from fermiclass.cli.options import FILE, BroughtIn, brought_options, class_priors_option, file_option
from fermiclass.errors import CatalogError
from fermiclass.io.files import check_figure_place, exists, write_figure
from fermiclass.io.model_folder import CATALOGUE, ModelFiles
from fermiclass.labelling.catalog_model import origin_of
from fermiclass.labelling.class_priors import GroupPriors
from fermiclass.labelling.counterparts import BEFORE, COUNTERPARTS_KEY
from fermiclass.labelling.labels import Labels
from fermiclass.labelling.training import checked_again
from fermiclass.plots import explanation, explanation_size
from fermiclass.show.explanation import print_counterpart, print_explanation
from fermiclass.show.terminal import train_with_bar

# Largest differences between the probabilities in the table and those of the model trained again: without a warning,
# and that other versions of libraries can make.
_SAME, _ROUNDED = 1e-3, 0.05


@click.command(cls=SectionedCommand)
@click.argument("labels_or_model", type=FILE)
@click.argument("names", nargs=-1, required=True, metavar="NAME|FILE...")
@file_option(
    "--catalog",
    help="The catalogue with the sources. [default: the catalogue of the labels or of the model, if it is in this "
    "folder or beside them]",
)
@file_option(
    "--train-on",
    metavar="CATALOG",
    help="The training catalogue, if it is another one. [default: searched for in the same folders]",
)
@brought_options
@class_priors_option(help="Class priors, for a model folder only, as in 'classify'. A label table contains its own.")
@file_option("--plot", help="Figure of the explanation: .png, .pdf or .svg; of several sources a .pdf.")
def explain(
    labels_or_model: Path,
    names: tuple[str, ...],
    catalog: Path | None,
    train_on: Path | None,
    brought: BroughtIn,
    class_priors: str | GroupPriors | None,
    plot: Path | None,
) -> None:
    """Explain the probabilities of sources.

    NAME is any name of a source: in 4FGL (with or without '4FGL'), of its association, or in an earlier catalogue
    down to 1FGL. FILE is a list of sources, such as 'followup' writes. The effects of the features are printed as
    log-odds, with bars. With a model folder explanations take seconds. With a label table the model is trained again,
    with the settings, the seed and the catalogue in the table's metadata. Give what the model learned from beside the
    catalogue again: --join, --labels.

    \b
    Example:
      fermiclass explain labels.fits "4FGL J0000.3-7355" --plot source.pdf
      fermiclass explain dr4-model "Mkn 421" --catalog 4FGL-DR4.fits
      fermiclass explain dr4-model targets.csv --plot targets.pdf
    """  # noqa: D301
    if plot is not None:
        check_figure_place(plot, labels_or_model, catalog, train_on)
    if not exists(labels_or_model):
        raise CatalogError(f"there is no label table or model folder '{labels_or_model}'. Check the name.")
    about: Labels | ModelFiles
    if labels_or_model.is_dir():
        about = read_folder(labels_or_model, CATALOGUE)
        made_of = trained_on = origin_of(about.model)
    elif class_priors is not None:
        raise click.UsageError("a label table contains its own class priors: leave out --class-priors")
    else:
        about = Labels.read(labels_or_model)
        made_of, trained_on, _ = about.of, about.trained_on, about.recipe  # reports what is missing
    loaded = brought.table(catalog, made_of) if catalog else look_for(made_of, labels_or_model, "--catalog")
    with_labels = made_of.has_labels if isinstance(about, Labels) else loaded.sha256 == trained_on.sha256
    loaded = brought.into(loaded, labels=with_labels, needed=False)
    if isinstance(about, Labels):
        made_of.check(loaded.origin, f"'{about.source}'")
    given = [list_of(name).names.tolist() if Path(name).is_file() else [name] for name in names]
    found = [find_source(loaded, name) for each in given for name in each]  # reports errors before the slow steps
    if plot is not None and plot.suffix.lower() != ".pdf" and len(found) > 1:
        raise click.UsageError(f"{len(found)} sources need as many pages: give a .pdf file (--plot)")
    if train_on is None and loaded.sha256 == trained_on.sha256:
        train_on = catalog
    if train_on == catalog and {*loaded.brought} == {*trained_on.brought} and loaded.sha256 == trained_on.sha256:
        training = loaded
    elif train_on is not None:
        training = brought.into(BroughtIn().table(train_on, trained_on))
    else:
        training = brought.into(look_for(trained_on, labels_or_model, "--train-on"))
    if isinstance(about, Labels):
        recipe = about.recipe
        model = train_with_bar(checked_again(about, training), what="training again")
        explained = explain_all(
            model, loaded, found, train_on=training, class_priors=recipe.class_priors, evidence=recipe.evidence
        )
        for each in explained:
            _compare(about, each)
    else:
        trained_on.check(training.origin, f"the model in '{labels_or_model}'")
        model = load_folder(labels_or_model, about)
        explained = explain_all(model, loaded, found, train_on=training, class_priors=class_priors)
    if plot is not None:
        from matplotlib.figure import Figure

        pages = [Figure(figsize=explanation_size(each), layout="constrained") for each in explained]
        for each, page in zip(explained, pages, strict=True):
            explanation(each, figure=page)
        write_figure(plot, *pages)
    for each in explained:
        print_explanation(each)
        if isinstance(about, Labels) and COUNTERPARTS_KEY in about.meta:
            print_counterpart(about, each.name, candidates_beside(labels_or_model, about))


def _compare(labels: Labels, explained: Explanation) -> None:
    """Warn if the model trained again and the label table differ; CatalogError if by more than their versions do."""
    rows = np.flatnonzero(np.asarray(labels.table["Source_Name"]) == explained.name)
    if not len(rows):
        return
    prefix = BEFORE if COUNTERPARTS_KEY in labels.meta else "P_"  # the model knows no counterparts
    table = np.column_stack([labels.table[prefix + name][rows] for name in explained.classes])
    differences = np.abs(table - explained.probabilities).max(axis=1)
    stored, difference = table[np.argmin(differences)], differences.min()  # several sources may have the name
    if difference <= _SAME:
        return
    both = ", ".join(
        f"P({name}) {one:.3f} and {other:.3f}"
        for name, one, other in zip(explained.classes, stored, explained.probabilities, strict=True)
    )
    if difference > _ROUNDED:
        raise CatalogError(
            f"'{labels.source}' and the model trained again are not of one model: {both}. The table was changed, or "
            f"was made with versions that differ much ({labels.meta.get('versions')}). Label the sources again."
        )
    warnings.warn(
        f"the label table and the model trained again differ: {both}. The table was made with "
        f"{labels.meta.get('versions')}.",
        stacklevel=2,
    )
