import { type AccentName, paletteOf } from './accent-colors.ts';
import { COLORS, FONT_FILES, FONTS, MOTION, RADII, SPACES, TEXT_SIZES } from './tokens.ts';

/** Punctuation that Chinese sets full-width. */
const CJK_PUNCTUATION: ReadonlySet<string> = new Set([
  'U+00B7',
  'U+2013-2014',
  'U+2018-2019',
  'U+201C-201D',
  'U+2022',
  'U+2026',
  'U+201A',
  'U+201E',
  'U+2039-203A',
]);

/** Declares a font family of the bundled files. @param excluded ranges of characters that the family leaves out */
const fontFaces = (family: string, excluded: ReadonlySet<string> = new Set()): string =>
  FONT_FILES.map(({ path, characters }) => {
    const ranges = characters.split(',').filter((range) => !excluded.has(range));
    return `@font-face{font-family:"${family}";font-style:normal;font-weight:400 700;font-display:swap;src:url(${path}) format("woff2");unicode-range:${ranges.join()}}`;
  }).join('\n');

/** Metrics of Inter applied to a font every system has, so that the layout does not shift once Inter has loaded. */
const FALLBACK_FACE =
  '@font-face{font-family:"Inter fallback";src:local("Arial"),local("Liberation Sans"),local("Roboto");size-adjust:107.4%;ascent-override:90.2%;descent-override:22.48%;line-gap-override:0%}';

const declare = (prefix: string, values: Readonly<Record<string, string>> | readonly string[]): string =>
  Object.entries(values)
    .map(([name, value]) => `--rg-${prefix}-${name}:${value};`)
    .join('');

/**
 * The design tokens as CSS variables (`--rg-color-text` and so on): the only source of colours, type, spaces and motion
 * for the console and the server-rendered pages.
 *
 * Dark values apply if the system prefers them and the console has not selected light ones, or if the console has
 * selected dark ones.
 */
export function toTokensCss(accent: AccentName): string {
  const palette = paletteOf(accent);
  const light = declare('color', { ...COLORS.light, accent: palette[7], 'on-accent': '#ffffff', link: palette[7] });
  const dark = declare('color', { ...COLORS.dark, accent: palette[7], 'on-accent': '#ffffff', link: palette[3] });
  const fixed = [
    declare('accent', palette),
    declare('font', FONTS),
    declare('text', TEXT_SIZES),
    declare('radius', RADII),
    declare('space', SPACES),
    declare('motion', MOTION),
  ].join('');
  return [
    fontFaces('Inter Variable'),
    fontFaces('Inter Letters', CJK_PUNCTUATION),
    FALLBACK_FACE,
    `:root{color-scheme:light dark;${fixed}${light}--rg-font:var(--rg-font-sans)}`,
    ':root:lang(zh){--rg-font:var(--rg-font-sans-cjk)}',
    `@media (prefers-color-scheme:dark){:root:not([data-mantine-color-scheme=light]){${dark}}}`,
    `:root[data-mantine-color-scheme=dark]{${dark}}`,
    '@media (prefers-reduced-motion:reduce){:root{--rg-motion-fast:0s;--rg-motion-normal:0s}}',
  ].join('\n');
}

/** Styles of the server-rendered pages, in addition to the tokens. */
export const PAGES_CSS = `*{box-sizing:border-box}
body{margin:0;background:var(--rg-color-ground);color:var(--rg-color-text);font:1rem/1.5 var(--rg-font);overflow-wrap:anywhere;-webkit-font-smoothing:antialiased}
body>header,main,body>footer{width:100%;max-width:32rem;margin:0 auto;padding:0 1rem}
.wide>header,.wide>main,.wide>footer{max-width:60rem}
body>header{display:flex;justify-content:space-between;align-items:center;gap:1rem;padding-top:1.25rem;padding-bottom:1rem}
.brand{display:flex;align-items:center;gap:.625rem;font-size:1.125rem;font-weight:700;letter-spacing:-.02em;color:inherit;text-decoration:none}
a{color:var(--rg-color-link)}
body>header nav a{padding:.375rem .25rem}
main>section{background:var(--rg-color-surface);border:1px solid var(--rg-color-line);border-radius:var(--rg-radius-lg);padding:1.5rem}
h1{font-size:var(--rg-text-h1);font-weight:650;line-height:1.3;margin:0 0 .75rem}
h2{font-size:var(--rg-text-h3);font-weight:650;margin:1.25rem 0 .375rem}
p{margin:0 0 .75rem}
ul{margin:0 0 .75rem;padding-left:1.25rem}
li{margin:.125rem 0}
label{display:block;font-weight:600;margin:1rem 0 .375rem}
input,select{width:100%;font:inherit;color:inherit;background:var(--rg-color-surface);border:1px solid var(--rg-color-control);border-radius:var(--rg-radius-md);padding:.625rem .75rem;min-height:2.75rem}
code,pre,.code{font-family:var(--rg-font-mono)}
.code{letter-spacing:.08em}
input[aria-invalid=true]{border-color:var(--rg-color-bad)}
input.code{text-transform:uppercase;font-size:1.25rem}
output.code{display:block;text-align:center;font-size:clamp(1.5rem,9vw,2.25rem);font-weight:700;border:1px solid var(--rg-color-line);border-radius:var(--rg-radius-md);padding:.5rem;margin:.25rem 0 .5rem;background:var(--rg-color-ground);white-space:nowrap}
button,.button{display:inline-block;width:100%;font:inherit;font-weight:600;text-align:center;text-decoration:none;border-radius:var(--rg-radius-md);padding:.625rem 1rem;min-height:2.75rem;cursor:pointer;border:2px solid var(--rg-color-accent);background:var(--rg-color-accent);color:var(--rg-color-on-accent);margin-top:1.25rem}
.plain{background:none;border-color:var(--rg-color-link);color:var(--rg-color-link);margin-top:.75rem}
.choice{display:grid;grid-template-columns:repeat(auto-fit,minmax(6rem,1fr));gap:.75rem;margin-top:1.25rem}
.choice button{margin:0}
.more{margin-top:1.25rem}
.more summary{cursor:pointer;color:var(--rg-color-link)}
.quiet button{display:inline;width:auto;min-height:0;border:0;background:none;color:var(--rg-color-link);text-decoration:underline;padding:.25rem;margin:0;font-weight:400}
:focus-visible{outline:2px solid var(--rg-color-link);outline-offset:2px}
.account{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:.25rem .75rem;border-bottom:1px solid var(--rg-color-line);padding-bottom:.75rem;margin-bottom:1rem}
.asker{font-size:1.25rem;font-weight:700;margin:0}
.asker+p{margin-top:.5rem}
.claimed{color:var(--rg-color-muted);font-size:.875rem;max-height:4.5em;overflow:hidden;margin:0 0 .75rem}
dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:.75rem 0}
dt{color:var(--rg-color-muted)}
dd{margin:0}
.note{color:var(--rg-color-muted);font-size:.9375rem}
.hint{margin:.375rem 0 0}
form>.good{margin-top:.75rem}
form+p{margin-top:1.25rem}
section>:last-child,form>:last-child{margin-bottom:0}
.warning{background:var(--rg-color-warning-ground);border:1px solid var(--rg-color-warning-line);border-radius:var(--rg-radius-md);padding:.625rem .75rem}
.error{color:var(--rg-color-bad);font-weight:600}
.good{color:var(--rg-color-good)}
body>footer{padding-top:1rem;padding-bottom:2rem;color:var(--rg-color-muted);font-size:.875rem}
.reference{padding-bottom:4rem}
.reference h2{border-bottom:1px solid var(--rg-color-line);font-size:var(--rg-text-h2);margin:2.5rem 0 .75rem;padding-bottom:.25rem}
.reference details,.reference section{scroll-margin-top:4.5rem}
.reference h3{font-size:.9375rem;margin:1rem 0 .375rem}
.reference details{background:var(--rg-color-surface);border:1px solid var(--rg-color-line);border-radius:var(--rg-radius-md);margin:.5rem 0}
.reference summary{cursor:pointer;padding:.5rem .75rem;display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:baseline}
.reference summary code{font-weight:600;font-size:.9375rem}
.reference summary b{font:600 .75rem var(--rg-font-mono);min-width:3.5rem;color:var(--rg-color-link)}
.reference details>div{padding:0 .75rem .75rem}
.reference pre{background:var(--rg-color-ground);border-radius:var(--rg-radius-md);overflow:auto;padding:.625rem;font-size:.8125rem}
.reference nav{display:flex;flex-wrap:wrap;gap:.25rem .9rem;margin:.75rem 0}
.reference #search{position:sticky;top:.5rem;z-index:1}
.reference #guide{background:var(--rg-color-surface);border:1px solid var(--rg-color-line);border-radius:var(--rg-radius-lg);padding:.25rem 1.5rem 1.25rem;margin-top:1.25rem}
.reference #guide h2{border:0;margin:1.25rem 0 .375rem;padding:0}
.reference #guide .button{width:auto;margin:0}
.reference .tabs{display:flex;gap:.375rem}
.reference .tabs button{width:auto;min-height:2.25rem;margin:0;padding:.25rem .75rem;background:none;border:1px solid var(--rg-color-control);color:inherit}
.reference .tabs button[aria-pressed=true]{background:var(--rg-color-accent);border-color:var(--rg-color-accent);color:var(--rg-color-on-accent)}
.reference pre{white-space:pre;overflow-wrap:normal;max-height:32rem}
.reference textarea{width:100%;font:.8125rem var(--rg-font-mono);color:inherit;background:var(--rg-color-surface);border:1px solid var(--rg-color-control);border-radius:var(--rg-radius-md);padding:.5rem}
.reference form.try button{width:auto;margin-top:.75rem}
.reference form.try output{display:block;white-space:pre-wrap;font:.8125rem var(--rg-font-mono);background:var(--rg-color-ground);border-radius:var(--rg-radius-md);padding:.625rem;margin-top:.75rem;max-height:24rem;overflow:auto}
.reference form.try output[hidden]{display:none}
.reference form.try label input{margin-top:.25rem}
.short{max-width:24rem}
video{display:block;width:100%;max-height:78vh;border-radius:var(--rg-radius-md);background:#000}
.caption{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:.5rem 1rem;margin-top:1rem}
.caption h1{margin:0}
.caption .button{width:auto;margin:0}
@media (max-width:22rem){main>section{padding:1.125rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}}
`;
