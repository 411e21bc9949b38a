import type { TFunction } from 'i18next';

type T = TFunction<'audit'>;

/** `user.update` → "User changed"; one that has no words here stays as it is stored. */
export const describeAction = (t: T, action: string): string =>
  t(`actions.${action as 'user.update'}`, { defaultValue: action });

/** `user:12` → "User 12" */
export function describeTarget(t: T, target: string): string {
  const at = target.indexOf(':');
  if (at < 0) return target;
  const kind = target.slice(0, at) as 'user';
  return t(`targets.${kind}`, { id: target.slice(at + 1), defaultValue: target });
}

/** Every action with its words, for a list to choose from. */
export const listActions = (t: T): readonly { readonly value: string; readonly label: string }[] =>
  listLeaves(t('actions', { returnObjects: true }));

/** The texts of a tree, each with the path that leads to it: `mailbox.app-password.read`. */
const listLeaves = (tree: object, path = ''): { readonly value: string; readonly label: string }[] =>
  Object.entries(tree).flatMap(([key, each]: [string, unknown]) =>
    typeof each === 'string'
      ? [{ value: `${path}${key}`, label: each }]
      : typeof each === 'object' && each !== null
        ? listLeaves(each, `${path}${key}.`)
        : [],
  );
