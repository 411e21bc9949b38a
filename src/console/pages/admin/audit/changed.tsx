import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AuditRow } from './audit-page.tsx';
import { changedKeys } from './target.ts';

const MOST = 4;

/** What a line changed, in names; the values open beside it. */
export function Changed({ entry, onOpen }: { readonly entry: AuditRow; readonly onOpen: () => void }) {
  const { t } = useTranslation('admin');
  const keys = changedKeys(entry.before, entry.after);
  if (keys.length === 0)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  const rest = keys.length - MOST;
  return (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen}>
      {keys.slice(0, MOST).join(', ')}
      {rest > 0 ? ` ${t('audit.more', { count: rest })}` : ''}
    </Anchor>
  );
}
