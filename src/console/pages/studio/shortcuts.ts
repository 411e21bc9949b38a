import { useHotkeys } from '@mantine/hooks';

/** Studio keys without a modifier and their actions, which are keys of the texts under `shortcuts`. */
export const STUDIO_KEYS = {
  '/': 'prompt',
  m: 'model',
  c: 'compare',
  h: 'recent',
  r: 'reuse',
  v: 'vary',
  e: 'extend',
  d: 'edit',
  l: 'lastFrame',
} as const;

const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** The keys that generate a video, as labelled on the user's keyboard. */
export const SUBMIT_KEYS = isMac ? '⌘ + Enter' : 'Ctrl + Enter';

const STORAGE_KEY = 'reelgate.single-key-shortcuts';

/** Whether keys without a modifier act; WCAG 2.1.4 demands a switch, because speech input types letters. */
export const hasSingleKeys = (): boolean => localStorage.getItem(STORAGE_KEY) !== 'off';

/** Switches the keys without a modifier on or off, in this browser. */
export const setSingleKeys = (isOn: boolean): void => localStorage.setItem(STORAGE_KEY, isOn ? 'on' : 'off');

interface StudioKeys {
  readonly submit: () => void;
  readonly pickModel: () => void;
  readonly showShortcuts: () => void;
}

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();
/** Clicks the button with the given `aria-keyshortcuts`. */
const press = (key: string): void => document.querySelector<HTMLElement>(`[aria-keyshortcuts="${key}"]`)?.click();
/** Ignores shortcuts while a dialog is open. */
const outsideDialogs = (act: () => void) => () => {
  if (document.querySelector('[role=dialog], dialog[open]') === null) act();
};

/**
 * Keyboard shortcuts of the studio: letters work outside of inputs, Ctrl + Enter everywhere. Buttons declare theirs in
 * `aria-keyshortcuts`.
 */
export function useStudioShortcuts({ submit, pickModel, showShortcuts }: StudioKeys): void {
  const single = (act: () => void): (() => void) =>
    outsideDialogs(() => {
      if (hasSingleKeys()) act();
    });
  useHotkeys([
    ['m', single(pickModel)],
    ['/', single(() => focus('#prompt'))],
    ['h', single(() => focus('.tile'))],
    // With or without Shift, depending on the keyboard.
    ...['?', 'shift+?'].map((key) => [key, single(showShortcuts)] as [string, () => void]),
    ...['c', 'r', 'v', 'e', 'd', 'l'].map((key) => [key, single(() => press(key))] as [string, () => void]),
  ]);
  useHotkeys([['mod+Enter', outsideDialogs(submit)]], []);
}
