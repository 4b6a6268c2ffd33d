"""The style sheet of the page: light and dark, screen, phone and paper."""

from gemmlab.report.svg import PALETTE, dark_style

RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--desk);color:var(--ink);font:16px/1.55 system-ui,Helvetica,Arial,sans-serif}
main{max-width:1160px;margin:0 auto;padding:24px 20px 56px}
h1{font-size:1.9rem;line-height:1.2;margin:.2em 0 .1em;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:0 0 .6em}
h3{font-size:1rem;margin:1.2em 0 .4em}
p,li{overflow-wrap:anywhere}
p{margin:.4em 0;max-width:72ch}
a{color:var(--teal)}
.quiet{color:var(--quiet)}
.lead{color:var(--quiet);margin:0;overflow-wrap:anywhere}
.verdict{font-size:1.2rem;font-weight:600;margin:.7em 0 0;overflow-wrap:anywhere}
.card{background:var(--paper);border:1px solid var(--grid);border-radius:10px;padding:18px 20px}
.card{margin:18px 0 0;min-width:0;overflow-x:auto}
.pair{display:grid;gap:18px;grid-template-columns:minmax(0,1fr) minmax(0,1fr);align-items:start}
.answers{list-style:none;margin:0;padding:0;display:grid;gap:12px}
.answers b{display:block}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{font-weight:600;text-align:left;color:var(--quiet);font-size:.85rem}
td,th{padding:5px 10px 5px 0;border-bottom:1px solid var(--grid);vertical-align:top;overflow-wrap:break-word}
td:first-child:not(.name),.facts td,.every td{overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
td:last-child,th:last-child{padding-right:0}
.n{text-align:right}
.n.whole{white-space:nowrap}
tr.bounds td{font-weight:600}
.why{display:block;color:var(--quiet);font-size:.88rem}
.tag{font-size:.75rem;font-weight:600;border:1px solid currentColor;border-radius:99px;padding:0 7px;white-space:nowrap}
.given,.datasheet{color:var(--quiet)}.counted{color:var(--teal)}.emulated{color:var(--teal)}.predicted{color:var(--ochre)}.measured{color:var(--plum)}.checked{color:var(--ink)}
figure{margin:14px -16px 0}
figure svg{display:block;width:100%;height:auto;max-width:640px}
.phone{display:none}
ol.advice{margin:0;padding-left:1.4em}
ol.advice li{margin:0 0 .8em;padding-left:.3em}
.gain{font-weight:600;color:var(--ochre);white-space:nowrap}
.code td:nth-child(2){font:.84rem/1.5 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.load{display:block;height:5px;border-radius:3px;background:var(--ochre)}
pre{font:.82rem/1.45 ui-monospace,Menlo,Consolas,monospace;margin:14px 0 0}
code{font-size:.88em;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
.short td,.short th{white-space:nowrap}.short td:last-child{white-space:normal;min-width:17em}
.every td:first-child{font:.84rem/1.5 ui-monospace,Menlo,Consolas,monospace}
article{margin-top:28px}article:first-child{margin-top:0}
article+article{margin-top:44px;border-top:2px solid var(--grid);padding-top:20px}
summary{cursor:pointer;font-weight:600}
@media screen and (max-width:820px){.pair{grid-template-columns:minmax(0,1fr);gap:0}}
@media screen and (max-width:560px){
.limits{font-size:.88rem}.limits td,.limits th{padding-right:7px}
main{padding:14px 12px 40px}h1{font-size:1.45rem}.card{padding:14px;border-radius:8px}
.wide{display:none}.phone{display:block}figure{margin:14px -14px 0}
.facts tr{display:grid;grid-template-columns:minmax(0,1fr) auto;padding:5px 0;border-bottom:1px solid var(--grid)}
.facts tr:last-child{border:0}.facts td{border:0;padding:0}
.facts td:nth-child(2){order:3;grid-column:1/-1;text-align:left;font-weight:600;overflow-wrap:anywhere}
.every thead{display:none}.every tr{display:block;padding:7px 0;border-bottom:1px solid var(--grid)}
.every td{display:block;border:0;padding:0;text-align:left}
.every td:nth-child(2),.every td:nth-child(3){display:inline;padding-right:8px}}
@media print{
body{background:#fff;font-size:9.5pt}main{max-width:none;padding:0}
.card{border:0;padding:0;overflow:visible;background:none}.pair{gap:22px}
.wide{display:none}.phone{display:block}figure{margin:8px 0 0}figure svg{max-width:340px}
details::details-content{content-visibility:visible;block-size:auto}
figure,li,tr{break-inside:avoid}h2,h3{break-after:avoid}.every{font-size:8pt}
svg [fill="#fdfcf9"]{fill:#fff}a{color:inherit}}
"""


def page_style() -> str:
    """All rules, the palette as variables first."""
    light = "".join(f"--{role}:{color};" for role, (color, _) in PALETTE.items())
    dark = "".join(f"--{role}:{color};" for role, (_, color) in PALETTE.items())
    roots = f":root{{color-scheme:light dark;--desk:#f3f1ea;{light}}}"
    roots += f"@media screen and (prefers-color-scheme:dark){{:root{{--desk:#0f1217;{dark}}}}}"
    return roots + RULES + dark_style()
