"""The style sheet of HTML transcripts. Data only.

What is not on the screen is laid out when it is scrolled to: a page of a long session opens in half the time.
"""

from typing import Final

from katod.formats.text.markup import Markup

STYLE: Final = Markup("""
:root{color-scheme:light dark;--text:#1f2328;--quiet:#59636e;--page:#fff;--soft:#f6f8fa;--line:#d1d9e0;--you:#ddf4ff;
--add:#1a7f37;--del:#d1242f;--link:#0969da;--key:#cf222e;--str:#0a3069;--fn:#6639ba;--num:#0550ae}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--quiet:#9198a1;--page:#0d1117;--soft:#151b23;--line:#3d444d;
--you:#12263f;--add:#3fb950;--del:#f85149;--link:#4493f8;--key:#ff7b72;--str:#a5d6ff;--fn:#d2a8ff;--num:#79c0ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans",Helvetica,Arial,sans-serif;display:grid;grid-template:"nav main"/auto minmax(0,1fr)}
main{grid-area:main;max-width:54rem;width:100%;margin:0 auto;padding:1.5rem 1.5rem 5rem;overflow-wrap:anywhere}
main>*{content-visibility:auto;contain-intrinsic-size:auto 2rem}
nav{grid-area:nav;width:17rem;position:sticky;top:0;height:100vh;overflow:auto;padding:1.25rem 1rem;
border-right:1px solid var(--line);background:var(--soft);font-size:.85rem}
nav b{display:block;margin-bottom:.5rem}nav ol{margin:0;padding-left:1.6rem}nav li{margin:.35rem 0;color:var(--quiet)}
nav a{color:var(--text);text-decoration:none}nav a:hover{text-decoration:underline}
a{color:var(--link)}a:not([href]){color:inherit}h1{font-size:1.6rem;line-height:1.25;margin:.2rem 0 .4rem}
h2,h3,h4,h5,h6{font-size:1.08rem;margin:1.2rem 0 .4rem}h5{font-size:1rem}h6{font-size:.93rem;color:var(--quiet)}
.speaker{font-size:1.15rem;font-weight:600;margin:1.6rem 0 .4rem;scroll-margin-top:1rem}
.person{font-weight:700;margin-top:2.4rem;padding-top:1rem;border-top:1px solid var(--line)}
.speaker a{color:inherit;text-decoration:none}time,.about,.mark,.note,.footer,.stamp{color:var(--quiet)}
.speaker time,.model{font-weight:400;font-size:.85rem;margin-left:.4rem;color:var(--quiet)}
.about,.footer,.mark,.note,.stamp{font-size:.88rem}.footer{border-top:1px dashed var(--line);padding-top:.4rem}
.typed{background:var(--you);border-radius:.6rem;padding:.6rem .9rem;white-space:pre-wrap;margin:.4rem 0}
.written{white-space:normal}.plain{white-space:pre-wrap}.written:has(>.source[open])>.shown{display:none}
.source{margin:0;font-size:1em}.source>summary{float:right;font-size:.8rem;margin:0 0 .2rem .8rem}
details.source>.plain{margin-left:0}.shown>:first-child{margin-top:0}.shown>:last-child{margin-bottom:0}
.tool{font-size:.9rem;margin:.15rem 0;padding-left:1.2rem;text-indent:-1.2rem;color:var(--quiet)}
.tool::before{content:"•";display:inline-block;width:1.2rem;text-indent:0}.tool b,summary b{color:var(--text)}
.failed{color:var(--del)}.outcome{font-size:.88rem;margin:.1rem 0 .3rem 1.2rem;color:var(--quiet)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.88em;line-height:1.5}
code{background:var(--line);background:color-mix(in srgb,var(--line) 45%,transparent);padding:.12em .3em;
border-radius:.3em;color:var(--text)}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.7rem .9rem;overflow:auto;
max-height:34rem}pre code{background:none;padding:0;font-size:1em}
details{margin:.3rem 0;font-size:.92rem}summary{cursor:pointer;color:var(--quiet)}
details>*:not(summary){margin-left:1.1rem}
blockquote{margin:.5rem 0;padding:0 .9rem;border-left:.25rem solid var(--line);color:var(--quiet)}
table{border-collapse:collapse;display:block;overflow:auto}th,td{border:1px solid var(--line);padding:.3rem .6rem;
overflow-wrap:break-word}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.4rem}
.question{border-left:.25rem solid var(--link);padding-left:.9rem}
.k,.kd,.kn,.kr,.kc,.kt,.ow,.nt{color:var(--key)}.s,.s1,.s2,.sb,.sd,.se,.sh,.si,.sx,.sr{color:var(--str)}
.nf,.nc,.nb,.na,.fm{color:var(--fn)}.m,.mi,.mf,.mh,.mo,.il{color:var(--num)}.c,.c1,.cm,.cp,.ch,.cs{color:var(--quiet)}
.gi{color:var(--add)}.gd{color:var(--del)}.gu{color:var(--fn)}
@media(max-width:60rem){body{display:block}
nav{position:static;width:auto;height:auto;border:0;border-bottom:1px solid var(--line)}
main{padding:1rem 1rem 4rem}body{display:flex;flex-direction:column}nav{order:-1;max-height:8.4rem;padding:.75rem 1rem}
nav li a{display:inline-block;max-width:100%;vertical-align:bottom;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis}}
@media print{nav,.source>summary{display:none}main>*{content-visibility:visible}
body{display:block;font-size:11pt}main{max-width:none;padding:0}pre{max-height:none;
white-space:pre-wrap}details{break-inside:avoid}h2,h3{break-after:avoid}}
""")
# What an index of pages has in addition.
INDEX_STYLE: Final = Markup("""
main h2{margin:2rem 0 .3rem;padding-bottom:.3rem;border-bottom:1px solid var(--line);scroll-margin-top:1rem}
nav ol{list-style:none;padding:0}nav .about{float:right;margin-left:.5rem}
.pages,.pages ul{list-style:none;margin:0;padding:0}.pages>li{padding:.55rem 0;border-bottom:1px solid var(--line)}
.pages>li:last-child{border:0}.pages a{font-weight:600;text-decoration:none}.pages a:hover{text-decoration:underline}
.pages .about{display:block;line-height:1.45}.pages details .about{display:inline}.pages details li{padding:.15rem 0}
.pages details a{font-weight:400}a:focus-visible,summary:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media(max-width:60rem){nav{max-height:none;padding:.9rem 1rem}nav b{display:none}
nav ol{display:flex;flex-wrap:wrap;gap:.2rem 1rem}nav li{margin:0}nav .about{float:none}}
@media print{.pages>li{break-inside:avoid}}
""")
