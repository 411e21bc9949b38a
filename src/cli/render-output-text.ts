import { type InspectColor, styleText } from 'node:util';
import { formatDateTime, formatRelativeTime } from './format-times-and-sizes.ts';
import { displayWidth, replaceControlCharacters } from './terminal-text.ts';

/** Where text goes, as far as its form depends on it. */
export interface RenderTarget {
  /** A person reads it: columns are aligned and times are relative. Else another program does, and tabs separate columns. */
  readonly isTerminal: boolean;
  readonly hasColor: boolean;
}

/** A text in the form its target needs. It makes the text of others inside it safe for a terminal. */
export type Rendering = (target: RenderTarget) => string;
/** A plain string is made safe when it is rendered. */
export type Text = string | Rendering;

export const render = (text: Text, target: RenderTarget): string =>
  typeof text === 'string' ? replaceControlCharacters(text) : text(target);

/** What a colour stands for, so that it is the same in every command. */
const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  active: 'cyan',
  secondary: 'dim',
  heading: 'bold',
} as const satisfies Readonly<Record<string, InspectColor>>;
export type Style = keyof typeof STYLES;

export const styled =
  (style: Style, text: Text): Rendering =>
  (target) => {
    const plain = render(text, target);
    return target.hasColor && plain !== '' ? styleText(STYLES[style], plain, { validateStream: false }) : plain;
  };

export const joinTexts =
  (texts: readonly Text[], separator: string): Rendering =>
  (target) =>
    texts.map((text) => render(text, target)).join(separator);

/** `3 minutes ago` for people, RFC 3339 in UTC for programs. @param seconds Unix seconds */
export const relativeTime =
  (seconds: number): Rendering =>
  ({ isTerminal }) =>
    isTerminal ? formatRelativeTime(seconds) : formatTimestamp(seconds);

/** `2026-11-21 12:30` of this machine's time zone for people, RFC 3339 in UTC for programs. @param seconds Unix seconds */
export const dateTime =
  (seconds: number): Rendering =>
  ({ isTerminal }) =>
    isTerminal ? formatDateTime(seconds) : formatTimestamp(seconds);

const formatTimestamp = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');

/** Aligned columns below a header for people; for programs rows alone, with a tab between two cells and none within one. */
export const formatTable =
  (head: readonly string[], rows: readonly (readonly Text[])[]): Rendering =>
  (target) => {
    const toCell = (text: Text): string => render(text, target).replace(/[\t\r\n]+/g, ' ');
    if (!target.isTerminal) return rows.map((row) => row.map(toCell).join('\t')).join('\n');
    const heading = head.map((name) => styled('heading', name));
    const cells = [heading, ...rows].map((row) => row.map(toCell));
    const widths = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))));
    const pad = (cell: string, column: number): string => ' '.repeat((widths[column] ?? 0) - displayWidth(cell));
    return cells
      .map((row) =>
        row
          .map((cell, column) => cell + pad(cell, column))
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
  };

/** Lines `name   value`, with a tab between the two for programs; those without a value are left out. */
export const formatKeyValues =
  (values: Readonly<Record<string, Text | undefined>>): Rendering =>
  (target) => {
    const shown = Object.entries(values).filter(
      (entry): entry is [string, Text] => entry[1] !== undefined && entry[1] !== '',
    );
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    return shown
      .map(([name, value]) =>
        target.isTerminal
          ? `${render(styled('secondary', name), target)}${' '.repeat(width - name.length + 2)}${render(value, target)}`
          : `${name}\t${render(value, target)}`,
      )
      .join('\n');
  };
