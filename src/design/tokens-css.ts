import { type AccentName, paletteOf } from './accent-colors.ts';
import { COLORS, FONT_PATH, FONTS, MOTION, RADII, SPACES, TEXT_SIZES } from './tokens.ts';

/** Characters contained in the font file; the second constant omits punctuation that Chinese sets full-width. */
const LATIN =
  'U+0020-007E,U+00A0-00FF,U+0131,U+0152-0153,U+2013-2014,U+2018-201A,U+201C-201E,U+2022,U+2026,U+2039-203A,U+20AC,U+2122,U+2191,U+2193,U+2212';
const LETTERS = 'U+0020-007E,U+00A0-00B6,U+00B8-00FF,U+0131,U+0152-0153,U+20AC,U+2122,U+2191,U+2193,U+2212';

const fontFace = (family: string, range: string): string =>
  `@font-face{font-family:"${family}";font-style:normal;font-weight:400 700;font-display:swap;src:url(${FONT_PATH}) format("woff2");unicode-range:${range}}`;

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
    fontFace('Inter Variable', LATIN),
    fontFace('Inter Letters', LETTERS),
    FALLBACK_FACE,
    `:root{color-scheme:light dark;${fixed}${light}--rg-font:var(--rg-font-sans)}`,
    ':root:lang(zh){--rg-font:var(--rg-font-sans-cjk)}',
    `@media (prefers-color-scheme:dark){:root:not([data-mantine-color-scheme=light]){${dark}}}`,
    `:root[data-mantine-color-scheme=dark]{${dark}}`,
    '@media (prefers-reduced-motion:reduce){:root{--rg-motion-fast:0s;--rg-motion-normal:0s}}',
  ].join('\n');
}
