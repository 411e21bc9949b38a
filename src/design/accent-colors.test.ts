import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ACCENT_NAMES, paletteOf } from './accent-colors.ts';
import { COLORS } from './tokens.ts';

/** Relative luminance and contrast as defined by WCAG 2.2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}
const assertContrast = (one: string, other: string, least: number, what: string): void =>
  assert.ok(contrast(one, other) >= least, `${what}: ${one} on ${other} has ${contrast(one, other).toFixed(2)}`);

describe('colours of the design', () => {
  for (const name of ACCENT_NAMES)
    it(`are readable on buttons and as links in ${name}`, () => {
      const palette = paletteOf(name);
      for (const shade of palette) assert.match(shade, /^#[0-9a-f]{6}$/);
      assertContrast('#ffffff', palette[7], 4.5, 'text of a button');
      for (const ground of [COLORS.light.ground, COLORS.light.surface])
        assertContrast(palette[7], ground, 4.5, 'link of a light page');
      for (const ground of [COLORS.dark.ground, COLORS.dark.surface])
        assertContrast(palette[3], ground, 4.5, 'link of a dark page');
    });

  for (const scheme of ['light', 'dark'] as const)
    it(`reach the contrast of text and controls on ${scheme} pages`, () => {
      const colors = COLORS[scheme];
      for (const ground of [colors.ground, colors.surface]) {
        for (const use of ['text', 'muted', 'bad', 'good'] as const) assertContrast(colors[use], ground, 4.5, use);
        assertContrast(colors.control, ground, 3, 'border of a control');
      }
      assertContrast(colors.text, colors['warning-ground'], 4.5, 'text of a warning');
    });
});
