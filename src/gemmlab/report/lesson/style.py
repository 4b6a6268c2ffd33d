"""What a lesson's page adds to the style sheet of all pages: one column to read, code with its marks."""

RULES = """
main{max-width:820px}
.lesson h1{font-size:2.3rem}
.lesson h2{font-size:1.5rem;line-height:1.25;margin:0 0 .5em;letter-spacing:-.01em}
.lesson section{margin:52px 0 0;padding-top:24px;border-top:1px solid var(--grid)}
.lesson p{font-size:1.03rem;line-height:1.62;margin:.7em 0;max-width:70ch}
.lesson .lead{font-size:1.05rem}
.lesson figure{margin:22px 0;background:var(--paper);border:1px solid var(--grid);border-radius:10px}
.lesson figure{padding:6px 6px 12px}
.lesson figure svg{max-width:none}
figcaption{color:var(--quiet);font-size:.92rem;line-height:1.5;padding:6px 14px 0}
.short-answers{margin:26px 0 0;padding:6px 20px;list-style:none;background:var(--paper);border:1px solid var(--grid)}
.short-answers{border-radius:10px}
.short-answers li{padding:12px 0;border-bottom:1px solid var(--grid)}.short-answers li:last-child{border:0}
.short-answers a{font-weight:600;text-decoration:none;display:block}
.lesson table{font-size:.95rem}.lesson td.name{min-width:6.5em}
.lesson th.n{text-align:right}
.program{font:.82rem/1.6 ui-monospace,Menlo,Consolas,monospace}
.program td{border:0;padding:0 10px 0 8px;white-space:pre;vertical-align:baseline}
.program td.number{color:var(--quiet);text-align:right;user-select:none}
.program .remark{display:block;font-weight:700}
.program tr.touches{background:var(--sand)}.program tr.missing{color:var(--brick)}
.program tr.missing span:first-child{text-decoration:line-through}
.kicker{color:var(--teal);font-weight:600;margin:1.2em 0 0}.lesson .kicker+h1{margin-top:.1em}
.bits svg{min-width:620px}
.made code{overflow-wrap:anywhere}
@media screen and (max-width:560px){
.lesson h1{font-size:1.7rem}.lesson h2{font-size:1.25rem}.lesson section{margin-top:38px;padding-top:18px}
.lesson figure{margin:16px -6px}.short-answers{padding:2px 14px}
.program{font-size:.61rem}.program td{padding:0 6px 0 4px}
.stack thead{display:none}.stack tr{display:block;padding:9px 0;border-bottom:1px solid var(--grid)}
.stack tr:last-child{border:0}
.stack td{display:flex;justify-content:space-between;gap:14px;border:0;padding:1px 0;text-align:right}
.stack td.name{font-weight:600;text-align:left}
.stack td[data-head]:before{content:attr(data-head);color:var(--quiet);text-align:left}}
@page{margin:16mm 15mm}
@media print{.lesson section{margin-top:20pt;padding-top:8pt}.lesson figure{border:0;padding:0;margin:10pt 0}
.wide{display:block}.phone{display:none}.lesson figure svg{max-width:600px}.bits svg{min-width:0}
.lesson p,.lesson li,.lesson td{font-size:10pt;line-height:1.45}.lesson h1{font-size:20pt}.lesson h2{font-size:14pt}
.lesson figcaption{font-size:9pt}.short-answers{padding:2pt 10pt}
.scroll{overflow:visible}.program{font-size:7.5pt;break-inside:avoid}.program tr.touches{outline:1px solid #999}}
"""
