import { useHotkeys } from '@mantine/hooks';
import { outsideDialogs, pressOnKey, single } from '../../components/shortcut-keys.ts';

interface StudioKeys {
  readonly submit: () => void;
  readonly pickModel: () => void;
}

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();

/**
 * Keyboard shortcuts of the studio: letters work outside of inputs, Ctrl + Enter everywhere. Buttons declare theirs in
 * `aria-keyshortcuts`.
 */
export function useStudioShortcuts({ submit, pickModel }: StudioKeys): void {
  useHotkeys([
    ['m', single(pickModel)],
    ['/', single(() => focus('#prompt'))],
    ['h', single(() => focus('.tile'))],
    ...['c', 'r', 'v', 'e', 'd', 'l'].map((key) => [key, pressOnKey(key)] as [string, () => void]),
  ]);
  useHotkeys([['mod+Enter', outsideDialogs(submit)]], []);
}
