import { Code, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../../../components/data-table.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import type { AuditEntry } from '../../../data/admin-types.ts';
import { changedKeys } from './audit-target-path-and-changed-keys.ts';
import { describeAction, describeTarget } from './describe-audit-action-and-target.ts';

/** Before and after, side by side. */
export function BeforeAndAfterDialog({ entry, onClose }: { readonly entry: AuditEntry; readonly onClose: () => void }) {
  const { t } = useTranslation('audit');
  const side = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return (
    <Dialog
      onClose={onClose}
      title={`${describeAction(t, entry.action)} · ${describeTarget(t, entry.target)}`}
      size="xl"
    >
      <DataTable
        label={t('change')}
        rows={changedKeys(entry.before, entry.after)}
        rowKey={(key) => key}
        columns={[
          {
            label: t('field'),
            cell: (key) => (
              <Text size="sm" fw={600} maw={220} style={{ overflowWrap: 'anywhere' }}>
                {key}
              </Text>
            ),
          },
          { label: t('before'), cell: (key) => <Value value={side(entry.before)[key]} /> },
          { label: t('after'), cell: (key) => <Value value={side(entry.after)[key]} /> },
        ]}
      />
      <Text size="xs" c="dimmed" mt="md">
        {t('action')} <Code>{entry.action}</Code> · {t('target')} <Code>{entry.target}</Code> · {t('request')}{' '}
        <Code>{entry.request_id || '–'}</Code>
      </Text>
    </Dialog>
  );
}

function Value({ value }: { readonly value: unknown }) {
  const text = value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
  );
}
