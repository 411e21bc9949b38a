import { useHotkeys } from '@mantine/hooks';

interface StudioKeys {
  readonly submit: () => void;
  readonly pickModel: () => void;
}

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();
/** Presses a button of the page by the key it states. */
const press = (key: string): void => document.querySelector<HTMLElement>(`[aria-keyshortcuts="${key}"]`)?.click();
/** Letters belong to a dialog while one is open. */
const outsideDialogs = (act: () => void) => () => {
  if (document.querySelector('[role=dialog]') === null) act();
};

/** The studio by keyboard: letters act outside of fields, Ctrl + Enter everywhere. Each is stated as `aria-keyshortcuts`. */
export function useStudioShortcuts({ submit, pickModel }: StudioKeys): void {
  useHotkeys([
    ['m', outsideDialogs(pickModel)],
    ['/', outsideDialogs(() => focus('#prompt'))],
    ['h', outsideDialogs(() => focus('.strip [aria-pressed=true], .strip button'))],
    ...['c', 'r', 'v', 'e', 'l'].map((key) => [key, outsideDialogs(() => press(key))] as [string, () => void]),
  ]);
  useHotkeys([['mod+Enter', outsideDialogs(submit)]], []);
}
