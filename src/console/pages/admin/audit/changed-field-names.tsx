import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AuditEntry } from '../../../data/admin-types.ts';
import { changedKeys } from './audit-target-path-and-changed-keys.ts';

const MAX_FIELDS = 4;

/** The names of the fields an audit log entry changed; the values can be opened beside them. */
export function ChangedFieldNames({ entry, onOpen }: { readonly entry: AuditEntry; readonly onOpen: () => void }) {
  const { t } = useTranslation('audit');
  const keys = changedKeys(entry.before, entry.after);
  if (keys.length === 0)
    return (
      <Text size="sm" c="dimmed">
        –
      </Text>
    );
  const rest = keys.length - MAX_FIELDS;
  return (
    <Anchor component="button" type="button" size="sm" ta="left" onClick={onOpen}>
      {keys.slice(0, MAX_FIELDS).join(', ')}
      {rest > 0 ? ` ${t('more', { count: rest })}` : ''}
    </Anchor>
  );
}
