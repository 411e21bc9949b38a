import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';
import { IconDeviceDesktop, IconMoon, IconSun } from '@tabler/icons-react';
import { DARK, FONTS, GRAY, RADII, TEXT_SIZES } from '../design/tokens.ts';

/** Palette of the site, declared by `/tokens.css`, so that a new accent colour in the settings needs no new build. */
const ACCENT = Array.from({ length: 10 }, (_, shade) => `var(--rg-accent-${shade})`) as unknown as MantineColorsTuple;

/** Maps the design tokens to Mantine's theme. Nothing is loaded from other hosts. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 7 },
  colors: { accent: ACCENT, dark: DARK, gray: GRAY },
  defaultRadius: 'md',
  radius: { xs: RADII.sm, sm: RADII.sm, md: RADII.md, lg: RADII.lg },
  fontFamily: 'var(--rg-font)',
  fontFamilyMonospace: FONTS.mono,
  headings: {
    fontWeight: '650',
    sizes: {
      h1: { fontSize: TEXT_SIZES.h1 },
      h2: { fontSize: TEXT_SIZES.h2 },
      h3: { fontSize: TEXT_SIZES.h3 },
    },
  },
  cursorType: 'pointer',
  respectReducedMotion: true,
  // Plain objects: referencing a component here would load it with every page.
  components: {
    Button: { defaultProps: { loaderProps: { type: 'dots' } } },
    Paper: { defaultProps: { radius: 'lg' } },
    Card: { defaultProps: { radius: 'lg', withBorder: true } },
    Table: { defaultProps: { verticalSpacing: 'sm' } },
    Badge: { defaultProps: { variant: 'light', tt: 'none', fw: 600 } },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Modal: { defaultProps: { centered: true, radius: 'lg' } },
    // The header of a dialog is not a landmark of the page.
    ModalHeader: { defaultProps: { role: 'none' } },
    // Links must be recognizable by more than their colour.
    Anchor: { defaultProps: { underline: 'always' } },
    Tooltip: { defaultProps: { openDelay: 250, withinPortal: true } },
  },
});

/** Text on a light tint needs a contrast of 4.5:1, which Mantine's own greens and yellows do not reach. */
export const resolveCssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-teal-light-color': '#06664a',
    '--mantine-color-yellow-light-color': '#8a4b00',
    '--mantine-color-red-light-color': '#b02525',
    '--mantine-color-blue-light-color': '#1864ab',
    // Red text of form errors on white: 5.6:1.
    '--mantine-color-error': '#c92a2a',
  },
  dark: {},
});

/** Icon of each colour scheme. */
export const COLOR_SCHEME_ICONS = { light: IconSun, dark: IconMoon, auto: IconDeviceDesktop } as const;
