"""Reports of Records: text for the terminal, pictures, a page, tables; loaded only when asked for."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gemmlab.report.chips import chip_table, chip_text
    from gemmlab.report.files import destination, write_file
    from gemmlab.report.numerics_picture import numerics_svg
    from gemmlab.report.numerics_units import unit_table, unit_text
    from gemmlab.report.page import html
    from gemmlab.report.plots import ladder_svg, plot_svg, roofline_svg, tile_svg, waterfall_svg
    from gemmlab.report.ran import run_table
    from gemmlab.report.ran_picture import run_svg
    from gemmlab.report.spreadsheet import csv_rows
    from gemmlab.report.sweep import sweep_table
    from gemmlab.report.systolic import systolic_text
    from gemmlab.report.systolic_picture import systolic_svg
    from gemmlab.report.text import print_record, terminal
    from gemmlab.report.workload import workload_text
    from gemmlab.report.workload_difference import difference_text
    from gemmlab.report.workload_difference_page import difference_html
    from gemmlab.report.workload_page import workload_html
    from gemmlab.report.workload_picture import workload_svg

__all__ = [
    "chip_table",
    "chip_text",
    "csv_rows",
    "destination",
    "difference_html",
    "difference_text",
    "html",
    "ladder_svg",
    "numerics_svg",
    "plot_svg",
    "print_record",
    "roofline_svg",
    "run_svg",
    "run_table",
    "sweep_table",
    "systolic_svg",
    "systolic_text",
    "terminal",
    "tile_svg",
    "unit_table",
    "unit_text",
    "waterfall_svg",
    "workload_html",
    "workload_svg",
    "workload_text",
    "write_file",
]

HOMES = {
    "chips": ("chip_table", "chip_text"),
    "files": ("destination", "write_file"),
    "numerics_picture": ("numerics_svg",),
    "numerics_units": ("unit_table", "unit_text"),
    "page": ("html",),
    "plots": ("ladder_svg", "plot_svg", "roofline_svg", "tile_svg", "waterfall_svg"),
    "ran": ("run_table",),
    "ran_picture": ("run_svg",),
    "spreadsheet": ("csv_rows",),
    "sweep": ("sweep_table",),
    "systolic": ("systolic_text",),
    "systolic_picture": ("systolic_svg",),
    "text": ("print_record", "terminal"),
    "workload": ("workload_text",),
    "workload_difference": ("difference_text",),
    "workload_difference_page": ("difference_html",),
    "workload_page": ("workload_html",),
    "workload_picture": ("workload_svg",),
}


def __getattr__(name: str) -> Any:
    """Import the module that holds a public name when it is first used: a terminal report needs no HTML."""
    from importlib import import_module

    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
