import type { KeyboardEvent } from 'react';

/** Whether the keyboard has a Command key instead of Ctrl. */
const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** A key pressed with Ctrl, or with Command on a Mac, as labelled on the user's keyboard. */
export const withMod = (key: string): string => (isMac ? `⌘ ${key}` : `Ctrl ${key}`);

/** Keys of the studio without a modifier, and what each does: a key of the texts `shortcuts`. */
const STUDIO_KEYS = { '/': 'prompt', M: 'model', C: 'compare', H: 'recent' } as const;

/** Those that act on a video, in the studio and on the page of one. */
const VIDEO_KEYS = { R: 'reuse', V: 'vary', E: 'extend', D: 'edit', L: 'lastFrame' } as const;

type ShortcutName =
  | 'search'
  | 'list'
  | 'submit'
  | 'send'
  | 'newLine'
  | 'turn'
  | (typeof STUDIO_KEYS)[keyof typeof STUDIO_KEYS]
  | (typeof VIDEO_KEYS)[keyof typeof VIDEO_KEYS];

/** A shortcut as listed. */
export interface Shortcut {
  readonly keys: string;
  readonly name: ShortcutName;
  /** It has no modifier and acts outside fields, so it can be switched off. */
  readonly isSingle?: true;
}

const ON_EVERY_PAGE: readonly Shortcut[] = [
  { keys: withMod('K'), name: 'search' },
  { keys: '?', name: 'list', isSingle: true },
];

const toShortcuts = (keys: Readonly<Record<string, ShortcutName>>): readonly Shortcut[] =>
  Object.entries(keys).map(([key, name]) => ({ keys: key, name, isSingle: true }) as const);

/** Shortcuts of single pages, by the start of their path. */
const ON_PAGES: readonly (readonly [path: string, shortcuts: readonly Shortcut[]])[] = [
  [
    '/studio',
    [
      { keys: withMod('Enter'), name: 'submit' },
      ...toShortcuts({ ...STUDIO_KEYS, ...VIDEO_KEYS }),
      { keys: '← →', name: 'turn' },
    ],
  ],
  ['/videos/task_', toShortcuts(VIDEO_KEYS)],
  ['/videos', [{ keys: '← →', name: 'turn' }]],
  [
    '/playground',
    [
      { keys: 'Enter', name: 'send' },
      { keys: 'Shift Enter', name: 'newLine' },
    ],
  ],
  ['/tickets', [{ keys: withMod('Enter'), name: 'send' }]],
  ['/admin/tickets', [{ keys: withMod('Enter'), name: 'send' }]],
];

/** The shortcuts that act on a page, those of the page first. */
export const shortcutsOf = (path: string): readonly Shortcut[] => [
  ...ON_PAGES.flatMap(([start, shortcuts]) =>
    path === start || path.startsWith(start.endsWith('_') ? start : `${start}/`) ? shortcuts : [],
  ),
  ...ON_EVERY_PAGE,
];

const STORAGE_KEY = 'reelgate.single-key-shortcuts';

/** Whether keys without a modifier act; WCAG 2.1.4 demands a switch, because speech input types letters. */
export const hasSingleKeys = (): boolean => localStorage.getItem(STORAGE_KEY) !== 'off';

/** Switches the keys without a modifier on or off, in this browser. */
export const setSingleKeys = (isOn: boolean): void => localStorage.setItem(STORAGE_KEY, isOn ? 'on' : 'off');

type OnKey = (event: { readonly repeat: boolean }) => void;

/**
 * Wraps the action of a key: it does nothing in a dialog, and acts once however long the key is held down, because each
 * repetition could start and charge another video.
 */
export const once =
  (act: () => void): OnKey =>
  ({ repeat }) =>
    repeat || outsideDialogs(act)();

/** Wraps the action of a key without a modifier, which does nothing if these keys are switched off. */
export const single = (act: () => void): OnKey =>
  once(() => {
    if (hasSingleKeys()) act();
  });

/** Clicks the button with the given `aria-keyshortcuts`. */
export const pressOnKey = (key: string): OnKey =>
  single(() => document.querySelector<HTMLElement>(`[aria-keyshortcuts="${key}"]`)?.click());

/** Ignores shortcuts while a dialog is open. */
export const outsideDialogs = (act: () => void) => (): void => {
  if (document.querySelector('[role=dialog], dialog[open]') === null) act();
};

/**
 * Whether a key belongs to an input method, where Enter takes a candidate and arrows choose one. Safari has ended the
 * composition by then, and only the code of the key tells.
 */
export const isComposing = ({ nativeEvent: { isComposing: isOpen, keyCode } }: KeyboardEvent): boolean =>
  isOpen || keyCode === 229;

const OPEN_EVENT = 'reelgate:shortcuts';

/** Opens the list of shortcuts. */
export const showShortcuts = (): void => void dispatchEvent(new Event(OPEN_EVENT));

/** Calls `open` when the list of shortcuts is asked for. @returns stops it */
export function onShowShortcuts(open: () => void): () => void {
  addEventListener(OPEN_EVENT, open);
  return () => removeEventListener(OPEN_EVENT, open);
}
