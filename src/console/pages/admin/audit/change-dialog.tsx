import { Code, Modal, Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { AuditRow } from './audit-page.tsx';
import { changedKeys } from './target.ts';

/** Before and after, side by side. */
export function ChangeDialog({ entry, onClose }: { readonly entry: AuditRow; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'shell']);
  const side = (value: unknown): Record<string, unknown> =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${entry.action} · ${entry.target}`}
      size="xl"
      closeButtonProps={{ 'aria-label': t('shell:close') }}
    >
      <Table layout="fixed" verticalSpacing="xs" aria-label={t('audit.change')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="24%">{t('audit.field')}</Table.Th>
            <Table.Th>{t('audit.before')}</Table.Th>
            <Table.Th>{t('audit.after')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changedKeys(entry.before, entry.after).map((key) => (
            <Table.Tr key={key}>
              <Table.Th scope="row" fw={500} style={{ overflowWrap: 'anywhere' }}>
                {key}
              </Table.Th>
              <Value value={side(entry.before)[key]} />
              <Value value={side(entry.after)[key]} />
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="xs" c="dimmed" mt="md">
        {t('audit.request')} <Code>{entry.request_id || '–'}</Code>
      </Text>
    </Modal>
  );
}

function Value({ value }: { readonly value: unknown }) {
  const text = value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return (
    <Table.Td style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap', verticalAlign: 'top' }} fz="sm">
      {text}
    </Table.Td>
  );
}
