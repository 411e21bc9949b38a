import { isObject } from '../../../contract/objects.ts';
import { readUserId } from '../../data/stored-user-id.ts';

/** Models a user marked or used last, kept in this browser for each account. */
export interface FavouriteAndRecentModels {
  readonly favourites: readonly string[];
  /** The last one first. */
  readonly recent: readonly string[];
}

const MAX_RECENT = 4;
const key = (): string => `reelgate.models.${readUserId() ?? 0}`;

export function readFavouriteAndRecentModels(): FavouriteAndRecentModels {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key()) ?? '{}');
    return isObject(kept)
      ? { favourites: toIds(kept.favourites), recent: toIds(kept.recent) }
      : { favourites: [], recent: [] };
  } catch {
    return { favourites: [], recent: [] };
  }
}

const toIds = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((id): id is string => typeof id === 'string') : [];

/** Marks a model as a favourite, or removes the mark. */
export const toggleFavouriteModel = (id: string): FavouriteAndRecentModels =>
  write(({ favourites, recent }) => ({
    favourites: favourites.includes(id) ? favourites.filter((each) => each !== id) : [...favourites, id],
    recent,
  }));

/** Puts models that were just used before the others. */
export const addRecentModels = (ids: readonly string[]): FavouriteAndRecentModels =>
  write(({ favourites, recent }) => ({ favourites, recent: [...new Set([...ids, ...recent])].slice(0, MAX_RECENT) }));

function write(change: (marks: FavouriteAndRecentModels) => FavouriteAndRecentModels): FavouriteAndRecentModels {
  const marks = change(readFavouriteAndRecentModels());
  localStorage.setItem(key(), JSON.stringify(marks));
  return marks;
}
