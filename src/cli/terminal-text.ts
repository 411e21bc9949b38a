import { stripVTControlCharacters } from 'node:util';

/** Control characters and direction overrides: with them, text of other users could move the cursor or hide output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Untrusted text made safe for a terminal; tabs and line ends are kept. */
export const replaceControlCharacters = (text: string): string => text.replace(UNSAFE, '\ufffd');

/** Width of a text on a terminal, in columns; colours take none. */
export const displayWidth = (text: string): number =>
  [...stripVTControlCharacters(text)].reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0);
