import type { AnchorProps } from '@mantine/core';
import type { Names } from '../../../data/names.ts';
import { ToLink } from './to-link.tsx';

interface NamedLinkProps extends AnchorProps {
  readonly to: 'users' | 'channels';
  readonly id: number | null;
  readonly names: Names;
}

/** A user or a channel by name; by number while the name is fetched, and once its owner is gone. */
export function NamedLink({ to, id, names, ...anchor }: NamedLinkProps) {
  return id === null ? (
    '–'
  ) : (
    <ToLink
      to={`/admin/${to}/${id}`}
      size="sm"
      title={`#${id}`}
      truncate
      display="inline-block"
      maw={160}
      style={{ verticalAlign: 'bottom' }}
      {...anchor}
    >
      {names(id) ?? `#${id}`}
    </ToLink>
  );
}
