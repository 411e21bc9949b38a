/** The neutral scale of light pages, from the ground to text: warm greys. */
export const GRAY = [
  '#faf9f7',
  '#f4f2ef',
  '#eae7e2',
  '#dfdbd5',
  '#cfcac3',
  '#aaa49c',
  '#6f6963',
  '#4d4944',
  '#35322e',
  '#221f1c',
] as const;

/** The neutral scale of dark pages, from text to the darkest ground. */
export const DARK = [
  '#d5d2ce',
  '#b3afa9',
  '#a5a09a',
  '#6b6762',
  '#45423e',
  '#383532',
  '#2b2926',
  '#1f1d1b',
  '#171614',
  '#100f0e',
] as const;

/**
 * Colours by their use. Text keeps a contrast of 4.5 : 1 to ground and surface, borders of controls 3 : 1 (WCAG 2.2, 1.4.3 and
 * 1.4.11); accent colours are added by the site's palette.
 */
export const COLORS = {
  light: {
    ground: GRAY[0],
    surface: '#ffffff',
    line: GRAY[3],
    control: '#8a837c',
    text: GRAY[9],
    muted: '#66605a',
    'warning-ground': '#fff6e0',
    'warning-line': '#d8a63a',
    bad: '#b02525',
    good: '#06664a',
  },
  dark: {
    ground: DARK[7],
    surface: DARK[6],
    line: DARK[4],
    control: '#8f8983',
    text: '#eeebe6',
    muted: '#b3aea8',
    'warning-ground': '#33291a',
    'warning-line': '#8a6a1f',
    bad: '#ff9d94',
    good: '#7fd6a0',
  },
} as const;

/**
 * Where the bundled font is served; the version is part of the name, because the file may be kept for a year. It is Inter 4.001
 * (`@fontsource-variable/inter` 5.3.0, inter-latin-wght-normal.woff2), from which fontTools 4.66.1 took the weights and letters
 * that are used: `fonttools varLib.instancer wght=400:700`, then `pyftsubset` with the characters of `tokens-css.ts`,
 * `--layout-features=kern,tnum --no-hinting --flavor=woff2`. That is 22 KB of 48.
 */
export const FONT_PATH = '/assets/inter-latin-4.001.woff2';
export const FONT_FILE = 'inter-latin.woff2';

const SYSTEM_FONTS =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif';

/** Inter has no Chinese: those characters come from the fonts of the system. */
export const FONTS = {
  sans: `"Inter Variable", "Inter fallback", ${SYSTEM_FONTS}`,
  /** Without Inter's quotation marks and dashes, which Chinese sets as wide as a character. */
  'sans-cjk': `"Inter Letters", "Inter fallback", ${SYSTEM_FONTS}`,
  mono: 'ui-monospace, SFMono-Regular, "Cascadia Code", Menlo, Consolas, "Noto Sans Mono", "DejaVu Sans Mono", monospace',
} as const;

/** Sizes in rem, so that they follow the size of text a person has set. */
export const TEXT_SIZES = {
  xs: '.75rem',
  sm: '.875rem',
  md: '1rem',
  h3: '1.02rem',
  h2: '1.2rem',
  h1: '1.55rem',
} as const;

export const RADII = { sm: '.25rem', md: '.5rem', lg: '.75rem', full: '999px' } as const;

export const SPACES = { xs: '.5rem', sm: '.75rem', md: '1rem', lg: '1.25rem', xl: '2rem' } as const;

/** Movement that confirms an action, and movement that shows where something came from; none where a person wants none. */
export const MOTION = { fast: '120ms ease-out', normal: '200ms ease-out' } as const;

/** Widths of content in px: a form, text, tables, and pages that use the whole screen. */
export const WIDTHS = { sm: 620, md: 860, lg: 1100, xl: 1440 } as const;
