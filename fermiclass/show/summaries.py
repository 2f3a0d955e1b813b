"""Printed summaries of the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from fermiclass.catalog import CLASS_CODES
from fermiclass.features import (
    DEFAULT_FEATURE_SET,
    FEATURE_SETS,
    extract_features,
    supported_features,
)
from fermiclass.io.target_lists import sexagesimal
from fermiclass.labelling.class_priors import WAY_KEY, stated_priors
from fermiclass.labelling.labels import CONFIDENT, LABEL_FLAGS, LASTS, STATUS, SUM_PREFIX, Labels

if TYPE_CHECKING:
    from astropy.table import Table

    from fermiclass.analysis.compare import Comparison
    from fermiclass.catalog import Catalog
    from fermiclass.labelling.catalog_model import CatalogModel
    from fermiclass.rows import RowsModel

_MOST_SUSPICIOUS = 10

#: A summary names a class if at least this fraction of its confident unassociated sources will vanish.
MANY_VANISH = 0.2


def print_info(catalog: Catalog) -> None:
    """Print release, classes, and the numbers of missing and imputed values of each feature."""
    console = console_for_tables()
    release = catalog.release
    about = f", {release.years} years of data ({release.reference})" if release.years else ""
    about += f": {len(catalog)} sources, from {catalog.source}"
    console.print(Text.assemble((release.name, "bold"), about))
    console.print(f"SHA-256 {catalog.sha256}\n", highlight=False)
    print_sources(catalog, [])

    classes = rich_table("class", "sources", "identified", "associated", "meaning", right=(1, 2, 3))
    codes, counts = np.unique(catalog.classes, return_counts=True)
    for k in np.argsort(-counts, kind="stable"):
        identified = int(np.sum(catalog.identified[catalog.classes == codes[k]]))
        rest = int(counts[k]) - identified
        name, meaning = (codes[k], CLASS_CODES.get(codes[k], "")) if codes[k] else ("(none)", "unassociated")
        split = (str(identified), str(rest)) if codes[k] else ("", "")
        classes.add_row(name, str(counts[k]), *split, meaning)
    console.print(classes)

    table = extract_features(catalog, supported_features(catalog))
    known = np.any(~table.imputed_value | np.isfinite(table.upper), axis=0)
    supported = [feature for feature, is_known in zip(table.features, known, strict=True) if is_known]
    rows = rich_table("feature", "missing", "errors imputed", "in the set", right=(1, 2))
    for j in np.flatnonzero(known):
        feature = table.features[j]
        measured = np.any(table.X_var[~table.imputed_value[:, j], j] > 0)
        missing, imputed = table.imputed_value[:, j].sum(), table.imputed_uncertainty[:, j].sum()
        sets = ", ".join(name for name, members in FEATURE_SETS.items() if feature in members)
        rows.add_row(feature.name, str(missing), str(imputed) if measured else "no error bar", sets)
    console.print(rows)
    for name, members in FEATURE_SETS.items():
        lacking = [feature.name for feature in members if feature not in supported]
        console.print(f"Set {name}: {'lacks ' + ', '.join(lacking) if lacking else 'supported'}.")
    of_default = [feature in supported and feature in FEATURE_SETS[DEFAULT_FEATURE_SET] for feature in table.features]
    flagged = int(np.sum((table.imputed_value | table.imputed_uncertainty)[:, of_default].any(axis=1)))
    console.print(
        "A missing value is averaged over as the training sources have it. An unknown uncertainty becomes the usual "
        "uncertainty at the source's significance. Such sources are flagged: "
        f"{flagged} with the default features."
    )


def recipe_text(labels: Labels) -> str:
    """Return the recipe of labels as a configuration file; comments say from which catalogues they were made."""
    of, trained_on, meta = labels.of, labels.trained_on, labels.meta
    lines = [f"made by {meta.get('creator', 'fermiclass')} ({meta.get('versions', '')})"]
    same = (of.source, of.sha256) == (trained_on.source, trained_on.sha256)
    for what, origin in {"catalogue": of, **({} if same else {"--train-on": trained_on})}.items():
        brought = "".join(f" {each}" for each in origin.brought)
        lines.append(f"{what}: {origin.source}{brought}, SHA-256 {origin.sha256}")
    return "".join(f"# {line}\n" for line in lines) + labels.recipe.to_toml()


def print_sources(catalog: Catalog, left_out: Sequence[str]) -> None:
    """Print what was taken from where, and the features that are left out because no source has them."""
    console = console_for_tables()
    if catalog.notes:
        console.print(f"{catalog.source}: {'; '.join(catalog.notes)}.")
    if left_out:
        console.print(f"Left out of the model, as no source has a value: {', '.join(left_out)}.")


def print_training(model: CatalogModel, folder: Path) -> None:
    """Print the training sources of a model and its folder."""
    console = console_for_tables()
    console.print(f"Trained {model.estimator.method} on {_learned(model)}: {folder}")


def _learned(model: CatalogModel) -> str:
    """Return from how many sources of each label a model learned, in words."""
    counts = model.provenance.training_counts
    words = (f"{n} {label.replace('|', ' or ').replace('@', ' of weight ')}" for label, n in counts.items())
    return f"{sum(counts.values())} sources of {model.provenance.origin.source} ({', '.join(words)})"


def print_rows_training(model: RowsModel, folder: Path) -> None:
    """Print the training rows of a model, the columns that it needs, and its folder."""
    columns, about = model.columns, model.provenance
    without = [f for f, noise in zip(columns.features, columns.uncertainties, strict=True) if noise is None]
    exact = f" (without error bars: {', '.join(without)})" if without else ""
    console = console_for_tables()
    console.print(
        f"Trained {model.estimator.method} on {about.rows}, {about.num_rows:,} rows with a label. Classes: "
        f"{', '.join(map(str, model.estimator.classes_))}. Features: {', '.join(columns.features)}{exact}. "
        f"Model: {folder}"
    )


def print_outliers(outliers: Table, path: Path) -> None:
    """Print the number of suspicious labels, and the most suspicious ones."""
    from fermiclass.analysis.outliers import ASSOCIATION_COLUMNS

    console = console_for_tables()
    wrong = np.asarray(outliers["P_WRONG"])
    console.print(
        f"{len(outliers)} sources have a class. The expected number of wrong classes is {wrong.sum():.0f}; "
        f"{np.sum(wrong > 0.5)} classes are wrong with a probability above 0.5. The most suspicious sources:",
        highlight=False,
    )
    has = [name for name in ASSOCIATION_COLUMNS if name in outliers.colnames]
    columns = ("source", "class", "wrong", "looks like", "nearest", *(name.rpartition("_")[2] for name in has))
    table = rich_table(*columns, right=(2, *range(5, len(columns))))
    for row in outliers[:_MOST_SUSPICIOUS]:
        best = row["PRED_CLASS"]
        nearest = Counter(str(row["NEIGHBOUR_CLASSES"]).split(", ")).most_common()
        table.add_row(
            str(row["Source_Name"]),
            str(row["CLASS1"]),
            f"{row['P_WRONG']:.2f}",
            f"{best} {row[f'P_{best}']:.2f}",
            " ".join(f"{count} {name}" for name, count in nearest),
            *(f"{row[name]:.3f}" for name in has),
        )
    console.print(table)
    if has:
        console.print("BAY, LR: the catalogue's own probabilities of the association; 0 means that it gives none.")
    console.print(f"All sources, the most suspicious first: {path}")


def print_labels(labels: Table, model: CatalogModel, path: Path) -> None:
    """Print numbers of labelled sources by class, and of confident labels, the class priors, and the flags."""
    console = console_for_tables()
    console.print(f"Trained on {_learned(model)}.")
    table = rich_table("class", "most probable", f"P ≥ {CONFIDENT}", "expected", "that last", right=(1, 2, 3, 4))
    for count in Labels(labels).counts():
        numbers = (count.best, count.confident, round(count.expected), round(count.lasting))
        table.add_row(count.words, *map(str, numbers))
    table.add_section()
    confident = np.sum(np.asarray(labels["P_MAX"]) >= CONFIDENT)
    table.add_row("all", *map(str, (len(labels), confident, len(labels), round(np.sum(labels[LASTS])))))
    console.print(table)
    _print_class_priors(console, [str(name) for name in model.estimator.classes_], labels.meta)
    console.print(lasting_caveat(labels))
    console.print(flag_caveat(labels["LABEL_FLAGS"]))
    console.print(f"Labels: {path}", highlight=False, soft_wrap=True)


def _print_class_priors(console: Console, classes: Sequence[str], meta: Mapping[str, Any]) -> None:
    """Print the class priors of each group of sources, if the labels were corrected for them."""
    stated = stated_priors(meta)
    if stated:
        table = rich_table("class priors", *classes, right=tuple(range(1, len(classes) + 1)))
        for group, priors in stated.items():
            table.add_row(group, *(f"{priors[name]:.4g}" if name in priors else "" for name in classes))
        console.print(table)
    for sentence in prior_caveats(meta):
        console.print(sentence)


def print_followup(ranking: Table, paths: Sequence[Path] = (), *, rows: int = 10) -> None:
    """Print the number of sources left by each constraint, the first `rows` sources, and what is known of them."""
    console = console_for_tables()
    score = ranking.meta["rankedby"]
    console.print(f"Sources left by each constraint: {ranking.meta['selected']}. By {score}, highest first:")
    if "excluded" in ranking.meta:
        console.print(ranking.meta["excluded"])
    if "expected" in ranking.meta:
        console.print(f"Expected among these {len(ranking)} sources: {ranking.meta['expected']} ({LASTS}).")
    score = score.removesuffix(f" * {LASTS}")
    by_class, by_group = score.startswith("P_") and score != "P_MAX", score.startswith(SUM_PREFIX)
    is_probability = score.startswith(("P_", SUM_PREFIX))
    columns = ["source", "RA J2000", "Dec", "r95'", "b", "σ", "class", "P", *([] if is_probability else ["score"])]
    table = rich_table(*columns, "last", "flag", "since", right=(3, 4, 5, 7, 8, 9, 10, 11))
    table.padding = 0  # to fit into 80 columns
    first = ranking[:rows]
    for row, ra, dec in zip(first, *sexagesimal(first, short=True), strict=True):
        name = score[2:] if by_class else str(row["PRED_CLASS"])
        probability = row[score] if by_class or by_group else row["P_MAX"]
        radius = 60.0 * row["Conf_95_SemiMajor"] if "Conf_95_SemiMajor" in ranking.colnames else np.nan
        within = f"{radius:.1f}" if np.isfinite(radius) else ""
        cells = [str(row["Source_Name"]), ra, dec, within, f"{row['GLAT']:+.1f}", f"{row['Signif_Avg']:.1f}"]
        cells += [name, f"{probability:.3f}", *([] if is_probability else [f"{row[score]:.3f}"])]
        table.add_row(*cells, f"{row[LASTS]:.2f}", str(row["LABEL_FLAGS"]), str(row["FIRST_LIST"]))
    console.print(table)
    for row in first[np.asarray(first["KNOWN"]) != ""]:
        console.print(f"Known: {row['Source_Name']}: {row['KNOWN']}.")
    if ranking.meta.get("past"):
        _print_past(console, ranking.meta["past"])
    for path in paths:
        console.print(f"{len(ranking)} sources: {path}", highlight=False, soft_wrap=True)


def _print_past(console: Console, past: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what became of the pulsar candidates of earlier releases."""
    from fermiclass.analysis.facts import JUDGE

    console.print(
        f"What the same choice gave of the unassociated sources of earlier releases, and what {JUDGE} says of them:"
    )
    columns = ("release", "sources", "expected", "that last", "pulsars", "spiders", "others", "no class", "gone")
    table = rich_table(*columns, right=range(1, len(columns)))
    table.padding = 0  # to fit into 80 columns
    for release, numbers in past.items():
        counts = (numbers[name] for name in ("sources", "expected", "lasting", "pulsars", "spiders", "others"))
        table.add_row(release, *map(str, (*counts, numbers["unassociated"], numbers["gone"])))
    console.print(table)
    console.print(
        "expected: pulsars, by the default model trained on that release. spiders: bin, lmb, glc. A source without a "
        "class may still be a pulsar."
    )


def print_comparison(comparison: Comparison, path: Path | None = None, *, rows: int = 10) -> None:
    """Print the matches, the agreement, ranks, ROC areas, and the first disagreements."""
    console = console_for_tables()
    n = comparison.numbers
    console.print(
        f"{n['by_name'] + n['by_position']} sources are in both lists ({n['by_name']} by name, {n['by_position']} by "
        f"position); {n['unmatched']} of {n['others']} in the other list have no label."
    )
    if comparison.unknown:
        words = ", ".join(f"{word} ({count})" for word, count in comparison.unknown.items())
        console.print(f"Classes of the list that the labels do not have are left out: {words}.")
    if n["no_news"]:
        console.print(f"{n['no_news']} bcu are left out that the list calls bcu or AGN: this is no news.")
    if comparison.agreement:
        console.print(_agreement_table(comparison))
        console.print(
            "agree: PRED_CLASS is this class. mean P: mean of our probability of it. The other columns count our "
            "PRED_CLASS."
        )
    if comparison.ranks is not None:
        console.print(
            f"Rank correlation of the two probabilities (Spearman): {comparison.ranks['rho']:.3f}, "
            f"{comparison.ranks['n']} sources."
        )
    if comparison.roc:
        console.print(
            "How well our probabilities tell these sources from the others (area under the ROC curve, 1 is best):"
        )
        areas = rich_table("class", "sources", "others", "area", right=(1, 2, 3))
        for words, curve in comparison.roc.items():
            areas.add_row(words, str(curve["positive"]), str(curve["negative"]), f"{curve['auc']:.3f}")
        console.print(areas)
    _print_disagreements(comparison, console, rows)
    if path is not None:
        console.print(f"{len(comparison.table)} sources: {path}", soft_wrap=True)


def _agreement_table(comparison: Comparison) -> RichTable:
    classes = list(next(iter(comparison.confusion.values())))
    table = rich_table("other list", "n", "agree", "mean P", *classes, right=tuple(range(1, 4 + len(classes))))
    for word, about in comparison.agreement.items():
        counts = (str(comparison.confusion[word][name]) for name in classes)
        table.add_row(word, f"{about['n']:.0f}", f"{100 * about['agree']:.0f} %", f"{about['mean_p']:.3f}", *counts)
    return table


def _print_disagreements(comparison: Comparison, console: Console, rows: int) -> None:
    found = comparison.table
    by_class = "OTHER_CLASS" in found.colnames
    column = "P_OTHER_CLASS" if by_class else "OTHER_P"
    console.print("The clearest disagreements first:")
    table = rich_table("source", "here", "P", "other", f"{'P here of other' if by_class else 'P other'}", right=(2, 4))
    for row in found[:rows]:
        other = str(row["OTHER_CLASS"]) if by_class else str(row["OTHER_NAME"])
        table.add_row(
            str(row["Source_Name"]), str(row["PRED_CLASS"]), f"{row['P_MAX']:.3f}", other, f"{row[column]:.3f}"
        )
    console.print(table)


def prior_caveats(meta: Mapping[str, Any]) -> list[str]:
    """Return sentences on the class priors of labels with these metadata; none if there was no correction."""
    way = meta.get(WAY_KEY)
    if way == "selection":
        return [
            "AGN are corrected for how completely they are associated, by Galactic latitude and significance "
            "(--class-priors trained: no correction)."
        ]
    if way == "given":
        return ["The class priors are given, on the assumption that every source is of one of these classes."]
    return []


def lasting_caveat(labels: Table) -> str:
    """Return how many sources a later list will lack, and the classes whose unassociated sources mostly vanish."""
    lasts, bare = np.asarray(labels[LASTS], float), np.asarray(labels[STATUS]) == "unassociated"
    lost = np.where(np.isfinite(lasts), 1.0 - lasts, 0.0)
    sure = bare & (np.asarray(labels["P_MAX"]) >= CONFIDENT)
    unassociated = "" if bare.all() else "unassociated "
    text = f"A later list will lack about {lost.sum():.0f} of these sources"
    if unassociated:
        text += f", {lost[bare].sum():.0f} of them unassociated"
    for name in Labels(labels).classes:
        chosen = sure & (np.asarray(labels["PRED_CLASS"]) == name)
        if lost[chosen].sum() >= max(1.0, MANY_VANISH * chosen.sum()):
            text += (
                f"; of {chosen.sum()} {unassociated}{name} with P ≥ {CONFIDENT} it will lack {lost[chosen].sum():.0f}"
            )
    return f"{text} ({LASTS})."


def flag_caveat(flags: ArrayLike) -> str:
    """Return how many sources are flagged, and how many by each bit of `LABEL_FLAGS`, from the flags of all."""
    flags = np.asarray(flags, int)
    counts = {meaning: np.sum(flags & bit > 0) for bit, meaning in LABEL_FLAGS.items()}
    parts = [f"{meaning} ({count})" for meaning, count in counts.items() if count]
    if not parts:
        return f"None of {len(flags)} sources is flagged."
    return f"{np.sum(flags > 0)} of {len(flags)} sources are flagged: {'; '.join(parts)}."


def console_for_tables() -> Console:
    """Return a console that prints names, classes and paths as they are: without highlighting, markup or emoji."""
    return Console(highlight=False, markup=False, emoji=False)


def rich_table(*columns: str, right: Container[int] = ()) -> RichTable:
    """Return an empty table of these columns; the columns with the numbers `right` are aligned to the right."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(columns):
        table.add_column(name, justify="right" if k in right else "left", no_wrap=k == 0, overflow="fold")
    return table
