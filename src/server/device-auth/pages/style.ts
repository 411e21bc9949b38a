/** The one style sheet of the pages. Both themes keep a contrast of at least 4.5 : 1 (WCAG 2.2, 1.4.3). */
export const STYLE = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--line:#d5d9e0;--field:#747c8b;--text:#16181d;--soft:#545b68;--accent:#1f56c9;--onaccent:#fff;--warnground:#fff6e0;--warnline:#d8a63a;--bad:#b3261e;--good:#1a6e3c}
@media (prefers-color-scheme:dark){:root{--ground:#101216;--card:#191c22;--line:#343a45;--field:#818a9a;--text:#eceef2;--soft:#a9b0bd;--accent:#8fb4ff;--onaccent:#0d1a33;--warnground:#2d2512;--warnline:#8a6a1f;--bad:#ff9d94;--good:#7fd6a0}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans SC","PingFang SC","Microsoft YaHei",sans-serif;overflow-wrap:anywhere}
header,main,footer{width:100%;max-width:32rem;margin:0 auto;padding:0 1rem}
header{display:flex;justify-content:space-between;align-items:center;gap:1rem;padding-top:1.25rem;padding-bottom:1rem}
.brand{font-weight:700;letter-spacing:.01em}
a{color:var(--accent)}
header a{padding:.375rem .25rem}
main>section{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.5rem}
h1{font-size:1.375rem;line-height:1.3;margin:0 0 .75rem}
h2{font-size:1rem;margin:1.25rem 0 .375rem}
p{margin:0 0 .75rem}
ul{margin:0 0 .75rem;padding-left:1.25rem}
li{margin:.125rem 0}
label{display:block;font-weight:600;margin:1rem 0 .375rem}
input{width:100%;font:inherit;color:inherit;background:var(--card);border:1px solid var(--field);border-radius:.5rem;padding:.625rem .75rem;min-height:2.75rem}
.code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.08em}
input.code{text-transform:uppercase;font-size:1.25rem}
output.code{display:block;text-align:center;font-size:clamp(1.5rem,9vw,2.25rem);font-weight:700;border:1px solid var(--line);border-radius:.5rem;padding:.5rem;margin:.25rem 0 .5rem;background:var(--ground);white-space:nowrap}
button,.button{display:inline-block;width:100%;font:inherit;font-weight:600;text-align:center;text-decoration:none;border-radius:.5rem;padding:.625rem 1rem;min-height:2.75rem;cursor:pointer;border:2px solid var(--accent);background:var(--accent);color:var(--onaccent);margin-top:1.25rem}
.plain{background:none;color:var(--accent);margin-top:.75rem}
.choice{display:grid;grid-template-columns:repeat(auto-fit,minmax(6rem,1fr));gap:.75rem;margin-top:1.25rem}
.choice button{margin:0}
.quiet button{display:inline;width:auto;min-height:0;border:0;background:none;color:var(--accent);text-decoration:underline;padding:.25rem;margin:0;font-weight:400}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.account{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:.25rem .75rem;border-bottom:1px solid var(--line);padding-bottom:.75rem;margin-bottom:1rem}
.asker{font-size:1.25rem;font-weight:700;margin:0}
.asker+p{margin-top:.5rem}
.claimed{color:var(--soft);font-size:.875rem;max-height:4.5em;overflow:hidden;margin:0 0 .75rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:.75rem 0}
dt{color:var(--soft)}
dd{margin:0}
.note{color:var(--soft);font-size:.9375rem}
.hint{margin:.375rem 0 0}
form>.good{margin-top:.75rem}
form+p{margin-top:1.25rem}
section>:last-child,form>:last-child{margin-bottom:0}
.warning{background:var(--warnground);border:1px solid var(--warnline);border-radius:.5rem;padding:.625rem .75rem}
.error{color:var(--bad);font-weight:600}
.good{color:var(--good)}
footer{padding-top:1rem;padding-bottom:2rem;color:var(--soft);font-size:.875rem}
@media (max-width:22rem){main>section{padding:1.125rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
`;
