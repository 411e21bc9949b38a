/** Neutral scale of light pages, from background to text: warm greys. */
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

/** Neutral scale of dark pages, from text to the darkest background. */
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
 * Colours by purpose. Text has a contrast of 4.5 : 1 to background and surface, borders of controls 3 : 1 (WCAG 2.2,
 * 1.4.3 and 1.4.11); the site's palette adds accent colours.
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

/** One file of the bundled font. */
export interface FontFile {
  /** Name in this folder. */
  readonly file: string;
  /** The path contains the version of the font, because browsers may cache the file for a year. */
  readonly path: string;
  /** Characters in the file, as in `unicode-range`. */
  readonly characters: string;
}

/**
 * The bundled font in two files: letters and punctuation of English, and the other characters of Western Europe, which
 * browsers load when a page contains one. The font is Inter 4.001 (`@fontsource-variable/inter` 5.3.0,
 * inter-latin-wght-normal.woff2), reduced with fontTools 4.66.1: `fonttools varLib.instancer wght=400:700`, then
 * `pyftsubset --unicodes=<characters> --layout-features=kern,tnum --no-hinting --flavor=woff2`. Instead of 48 KB, most
 * pages load 15.
 */
export const FONT_FILES = [
  {
    file: 'inter-basic.woff2',
    path: '/assets/inter-basic-4.001.woff2',
    characters:
      'U+0020-007E,U+00A0,U+00A9,U+00B7,U+00D7,U+2013-2014,U+2018-2019,U+201C-201D,U+2022,U+2026,U+20AC,U+2191,U+2193,U+2212',
  },
  {
    file: 'inter-extended.woff2',
    path: '/assets/inter-extended-4.001.woff2',
    characters: 'U+00A1-00A8,U+00AA-00B6,U+00B8-00D6,U+00D8-00FF,U+0131,U+0152-0153,U+201A,U+201E,U+2039-203A,U+2122',
  },
] as const satisfies readonly FontFile[];

const SYSTEM_FONTS =
  'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif';

/** Inter contains no Chinese; system fonts supply those characters. */
export const FONTS = {
  sans: `"Inter Variable", "Inter fallback", ${SYSTEM_FONTS}`,
  /** Omits Inter's quotation marks and dashes, which Chinese sets full-width. */
  'sans-cjk': `"Inter Letters", "Inter fallback", ${SYSTEM_FONTS}`,
  mono: 'ui-monospace, SFMono-Regular, "Cascadia Code", Menlo, Consolas, "Noto Sans Mono", "DejaVu Sans Mono", monospace',
} as const;

/** Sizes in rem, so that they follow the user's text size. */
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

/**
 * Motion that confirms an action, and motion that shows where something came from; both are disabled for users who
 * prefer reduced motion.
 */
export const MOTION = { fast: '120ms ease-out', normal: '200ms ease-out' } as const;

/** Content widths in px: of forms, of text, and of lists and media. */
export const WIDTHS = { sm: 620, md: 860, lg: 1440 } as const;
