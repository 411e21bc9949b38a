/**
 * Ten shades of one colour, lightest first; shade 7 fills buttons and colours links on light pages, shade 3 links on
 * dark ones.
 */
export type Palette = readonly [string, string, string, string, string, string, string, string, string, string];

const EMBER: Palette = [
  '#fff2ed',
  '#ffe1d6',
  '#ffc2ab',
  '#ffa283',
  '#fb875f',
  '#f2673d',
  '#e0532b',
  '#c23f1b',
  '#a03416',
  '#7f2a13',
];

/**
 * Lightness and chroma of the shades in OKLCH; on shade 7, white text has a contrast of at least 4.5 : 1 in every hue.
 */
const SHADES = [
  [0.97, 0.015],
  [0.93, 0.035],
  [0.87, 0.07],
  [0.8, 0.1],
  [0.72, 0.13],
  [0.64, 0.15],
  [0.57, 0.15],
  [0.49, 0.14],
  [0.42, 0.12],
  [0.36, 0.1],
] as const;

/** Hues in degrees of OKLCH. */
const HUES = { rose: 5, amber: 70, green: 150, teal: 190, blue: 255, indigo: 275, violet: 300 } as const;

export const ACCENT_NAMES = ['ember', 'rose', 'amber', 'green', 'teal', 'blue', 'indigo', 'violet'] as const;
/** Name of an accent colour. */
export type AccentName = (typeof ACCENT_NAMES)[number];

/** The ten shades of an accent colour. */
export function paletteOf(name: AccentName): Palette {
  if (name === 'ember') return EMBER;
  const shades = SHADES.map(([lightness, chroma]) => toHex(lightness, chroma, HUES[name]));
  return shades as readonly string[] as Palette;
}

/** Converts OKLCH to sRGB (CSS Color 4, section 9.2), reducing chroma for colours outside the sRGB gamut. */
function toHex(lightness: number, chroma: number, hue: number): string {
  const rgb = toLinearRgb(lightness, chroma, (hue * Math.PI) / 180);
  if (rgb.some((each) => each < -0.0005 || each > 1.0005) && chroma > 0.004)
    return toHex(lightness, chroma - 0.004, hue);
  return `#${rgb.map((each) => toByte(each).toString(16).padStart(2, '0')).join('')}`;
}

function toLinearRgb(lightness: number, chroma: number, angle: number): readonly number[] {
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function toByte(linear: number): number {
  const value = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
}

/**
 * The logo: a bar and a play triangle, in the site's colour. Drawn on a grid of 16, so that both edges of the bar align
 * with pixels in a browser tab.
 */
export const logoSvg = (accent: AccentName): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${paletteOf(accent)[7]}"/><path d="M4 3h2v10H4z" fill="#fff"/><path d="m7.5 3.6 5.7 3.9a.6.6 0 0 1 0 1l-5.7 3.9z" fill="#fff"/></svg>`;
