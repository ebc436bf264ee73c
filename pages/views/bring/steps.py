"""The Bring your own page in parts: a file and its preview, what its columns mean, and where it goes."""

import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import PruneScopeError
from engine.exchange.mapping import (
    DEFAULTS,
    NEEDED,
    ROLES,
    ClassFacts,
    ColumnMapping,
    Constant,
    Layout,
    ModelFacts,
)
from engine.exchange.messages import Preview
from engine.exchange.sandbox import preview_file
from engine.plain_names import PLAIN_NAME
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.views.bring.arrival import on_disk

NOT_IN_FILE = "— not in the file —"
USUAL = ("technique", "seed", "network")
OTHERS = tuple(role for role in ROLES if role not in (*NEEDED, *USUAL, "run"))
TEXTS = ("technique", "network", "treatment")


def previewed(file: UploadedFile, sidecar: UploadedFile | None) -> Preview | None:
    """Columns, first rows and guesses; None, with a sentence on the page, where the file is no table."""
    key = (file.file_id, sidecar.file_id if sidecar else "")
    kept = st.session_state.get("arrival")
    if kept is None or kept["key"] != key:
        try:
            with st.spinner("Reading the file …"), on_disk(file, sidecar) as source:
                kept = {"key": key, "preview": preview_file(source), "error": ""}
        except PruneScopeError as error:
            kept = {"key": key, "preview": None, "error": str(error)}
        st.session_state["arrival"] = kept
    if kept["error"]:
        st.error(f"**This file cannot be read.** {formats.plain(kept['error'])}", icon=":material/error:")
    preview: Preview | None = kept["preview"]
    return preview


def show_preview(preview: Preview) -> None:
    """The first rows as they stand in the file."""
    is_long = preview.mapping.layout == "long"
    words = "one row per model and example" if is_long else "one row per example, one column per model"
    st.markdown(f"## The first rows · {len(preview.names)} columns, {words}")
    table = pd.DataFrame(list(preview.rows), columns=list(preview.names)).astype(object)
    st.dataframe(table.where(table.notna(), None), hide_index=True, key="preview", alt="The first rows of the file.")


def shows(mapping: ColumnMapping) -> list[tuple[str, str]]:
    """What each page will be able to show of such a file: the page, and what it shows or lacks."""
    seeds = mapping.says("seed") or any(facts.seed is not None for facts in mapping.models.values())
    groups = ", ".join(mapping.groups)
    scores = mapping.says("loss") or mapping.says("probability")
    lacking = "needs a column of groups"
    return [
        (
            "Overview, Class curves, Frontier",
            "by class" + (", with intervals" if seeds else ", one training run: no intervals"),
        ),
        ("Frontier between groups, Subgroups", f"by {groups}" if groups else lacking),
        ("Writers", "where a group has ten members or more" if groups else lacking),
        ("Harmed examples", "without pictures" + ("" if seeds else "; votes need several training runs")),
        ("Recall distortion, Regression", "needs the dense model" + ("" if scores else "; without losses")),
        ("Causes, Mitigation", "nothing: they need runs that were computed here"),
    ]


def show_outlook(mapping: ColumnMapping) -> None:
    """What each page will be able to show, before anything is imported."""
    with st.expander("What each page will show"):
        lines = "\n".join(f"- **{page}**: {formats.plain(words)}" for page, words in shows(mapping))
        st.markdown(lines)


def choose_mapping(preview: Preview) -> ColumnMapping:
    """What each column means, as guessed and mended by hand."""
    guessed, names = preview.mapping, list(preview.names)
    st.markdown("## What the columns mean")
    layouts: list[Layout] = ["long", "wide"]
    layout: Layout = st.segmented_control(
        "Layout",
        layouts,
        default=guessed.layout,
        required=True,
        format_func={"long": "a row per model and example", "wide": "a column per model"}.__getitem__,
        key="layout",
    )
    wide = layout == "wide"
    roles = [role for role in NEEDED if not wide or role in ("example", "label")]
    columns, constants = _choose_roles([*roles, *(() if wide else USUAL)], guessed, names)
    with st.expander("More columns and settings"):
        more = _choose_roles([role for role in OTHERS if not wide or role in DEFAULTS], guessed, names)
        columns, constants = columns | more[0], constants | more[1]
        classes = st.text_input(
            "All classes in their order, comma-separated",
            ", ".join(facts.name for facts in guessed.classes),
            key="classes",
            help="Needed only where a model predicts a class that no example has.",
        )
    models = _choose_models(guessed, names) if wide else {}
    taken = {*columns.values(), *models}
    left = [name for name in names if name and name not in taken]
    sides = st.columns(2)
    groups = sides[0].multiselect(
        "Groups",
        left,
        [name for name in guessed.groups if name in left],
        key="groups",
        help="Columns that part the examples: series, writer, gender, site, …",
    )
    free = [name for name in left if name not in groups]
    attributes = sides[1].multiselect(
        "Attributes",
        free,
        [name for name in guessed.attributes if name in free],
        key="attributes",
        help="Columns of numbers that describe an example: age, brightness, …",
    )
    class_names = [name.strip() for name in classes.split(",") if name.strip()]
    if class_names == [facts.name for facts in guessed.classes]:
        class_names = []  # the sidecar says more of them than their names
    return ColumnMapping(
        guess=False,
        layout=layout,
        columns=columns,
        constants=constants,
        models=models,
        groups=tuple(groups),
        attributes=tuple(attributes),
        classes=tuple(ClassFacts(name) for name in class_names),
    )


def _choose_roles(
    roles: list[str], guessed: ColumnMapping, names: list[str]
) -> tuple[dict[str, str], dict[str, Constant]]:
    columns: dict[str, str] = {}
    constants: dict[str, Constant] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for role in roles:
            guess = guessed.columns.get(role, NOT_IN_FILE)
            options = [NOT_IN_FILE, *names]
            label = role.replace("_", " ").capitalize()
            chosen = st.selectbox(
                label, options, options.index(guess), key=f"role-{role}", help=ROLES[role][0], width=200
            )
            if chosen != NOT_IN_FILE:
                columns[role] = str(chosen)
            elif role in TEXTS:
                usual = str(guessed.constants.get(role, DEFAULTS[role]))
                constants[role] = st.text_input(f"{label} (for all rows)", usual, key=f"constant-{role}", width=200)
    return columns, constants


def _choose_models(guessed: ColumnMapping, names: list[str]) -> dict[str, ModelFacts]:
    used = set(guessed.columns.values())
    columns = st.multiselect(
        "Columns of predictions", [n for n in names if n and n not in used], list(guessed.models), key="models"
    )
    blank = {"technique": "imported", "sparsity": 0.0, "seed": 0}
    facts = {name: guessed.models.get(name, ModelFacts()).given() for name in columns}
    table = pd.DataFrame([{"column": name, **blank, **facts[name]} for name in columns])
    if table.empty:
        return {}
    st.caption('What each is; "dense" columns serve every technique of the same seed.')
    edited = st.data_editor(
        table[["column", "technique", "sparsity", "seed"]],
        hide_index=True,
        disabled=["column"],
        key=f"models-{len(columns)}",
        column_config={"sparsity": st.column_config.NumberColumn(min_value=0.0, max_value=0.9999, format="%.4g")},
    )
    return {str(row["column"]): _model_facts(row) for row in edited.to_dict("records")}


def _model_facts(row: Mapping[Hashable, Any]) -> ModelFacts:
    """A row of the table of models; a cell that was emptied says nothing."""
    return ModelFacts(**{role: row[role] for role in ("technique", "sparsity", "seed") if not pd.isna(row[role])})


def choose_target(file_name: str) -> tuple[str, str] | None:
    """Names of the study and of the data set; None, with a sentence, where they are none."""
    usual = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file_name).stem).strip("-._")[:40] or "mine"
    left, right = st.columns(2)
    study = left.text_input(
        "Study", usual, key="target", help="A new one, or one that was brought before: runs are added."
    )
    dataset = right.text_input("Data set", usual, key="target-data", help="How these examples are called.")
    for noun, name in (("study", study), ("data set", dataset)):
        if not PLAIN_NAME.match(name):
            rule = "Use letters, digits, '.', '_' and '-', a letter or digit first."
            st.warning(f"**{formats.plain(name) or 'Nothing'} is no name for a {noun}.** {rule}")
            return None
    path = load.studies_root() / study
    try:
        is_ours = path.exists() and not Study(path).info.get("imported")
    except PruneScopeError as error:
        st.warning(f"**{formats.plain(study)} is damaged.** {formats.plain(error)} Mend it, or choose another name.")
        return None
    if is_ours:
        st.warning(f"**{formats.plain(study)} was computed here.** Choose another name, so that the two stay apart.")
        return None
    return study, dataset
