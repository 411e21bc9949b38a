import { type AccentName, paletteOf } from './accent-colors.ts';

/**
 * The logo: a bar and a play triangle, in the site's colour. Drawn on a grid of 16, so that both edges of the bar align
 * with pixels in a browser tab.
 */
export const logoSvg = (accent: AccentName): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="${paletteOf(accent)[7]}"/><path d="M4 3h2v10H4z" fill="#fff"/><path d="m7.5 3.6 5.7 3.9a.6.6 0 0 1 0 1l-5.7 3.9z" fill="#fff"/></svg>`;
