import { useSyncExternalStore } from 'react';
import { readUserId } from './stored-user-id.ts';

/** A list as somebody wants to find it again: its filters and order by the names they have in the URL. */
export interface SavedView {
  readonly name: string;
  readonly search: Readonly<Record<string, string | number | boolean | undefined>>;
}

type ViewsByPath = Readonly<Record<string, readonly SavedView[]>>;

const MAX_VIEWS = 20;
const NONE: readonly SavedView[] = [];
const listeners = new Set<() => void>();
let cached: { readonly text: string | null; readonly views: ViewsByPath } = { text: null, views: {} };

/** Of this account in this browser: a view is shared by its URL. */
const storageKey = (): string => `reelgate.views.${readUserId() ?? 0}`;

function readViews(): ViewsByPath {
  const text = localStorage.getItem(storageKey());
  if (text !== cached.text) cached = { text, views: parseViews(text) };
  return cached.views;
}

function parseViews(text: string | null): ViewsByPath {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? (parsed as ViewsByPath) : {};
  } catch {
    return {};
  }
}

function storeViews(path: string, views: readonly SavedView[]): void {
  localStorage.setItem(storageKey(), JSON.stringify({ ...readViews(), [path]: views }));
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  window.addEventListener('storage', listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', listener);
  };
};

/** The views of the list at a path, and their changes. A view of the same name is replaced; the oldest go first. */
export function useSavedViews(path: string) {
  const views = useSyncExternalStore(subscribe, () => readViews()[path] ?? NONE);
  const without = (name: string) => views.filter((view) => view.name !== name);
  return {
    views,
    save: (view: SavedView) => storeViews(path, [...without(view.name), view].slice(-MAX_VIEWS)),
    remove: (name: string) => storeViews(path, without(name)),
  };
}
