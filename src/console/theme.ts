import {
  ActionIcon,
  Anchor,
  Badge,
  Button,
  Card,
  type CSSVariablesResolver,
  createTheme,
  Modal,
  Paper,
  Table,
  Tooltip,
} from '@mantine/core';

/** The visual theme: warm greys, one accent colour for important elements. Nothing is loaded from other hosts. */
export const theme = createTheme({
  primaryColor: 'ember',
  primaryShade: { light: 7, dark: 7 },
  colors: {
    ember: [
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
    ],
    dark: [
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
    ],
    gray: [
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
    ],
  },
  defaultRadius: 'md',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "Cascadia Code", Menlo, Consolas, "Noto Sans Mono", monospace',
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.55rem' }, h2: { fontSize: '1.2rem' }, h3: { fontSize: '1.02rem' } },
  },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: Button.extend({ defaultProps: { loaderProps: { type: 'dots' } } }),
    Paper: Paper.extend({ defaultProps: { radius: 'lg' } }),
    Card: Card.extend({ defaultProps: { radius: 'lg', withBorder: true } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 'sm' } }),
    Badge: Badge.extend({ defaultProps: { variant: 'light', tt: 'none', fw: 600 } }),
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray' } }),
    Modal: Modal.extend({ defaultProps: { centered: true, radius: 'lg' } }),
    // The header of a dialog is no landmark of the page.
    ModalHeader: { defaultProps: { role: 'none' } },
    // Known as a link by more than its colour.
    Anchor: Anchor.extend({ defaultProps: { underline: 'always' } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 250, withinPortal: true } }),
  },
});

/** Text on a light tint needs a contrast of 4.5 to 1; Mantine's own greens and yellows do not reach it. */
export const resolveCssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-teal-light-color': '#06664a',
    '--mantine-color-yellow-light-color': '#8a4b00',
    '--mantine-color-red-light-color': '#b02525',
    '--mantine-color-blue-light-color': '#1864ab',
  },
  dark: {},
});
