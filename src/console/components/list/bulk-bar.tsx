import { Button, Group, Text } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { RowSelection } from '../data-table.tsx';
import type { BulkAction } from './bulk-dialog.tsx';

const BulkDialog = lazy(() => import('./bulk-dialog.tsx'));

interface BulkBarProps<Row> {
  readonly selection: RowSelection<Row>;
  readonly actions: readonly BulkAction<Row>[];
  readonly nameOf: (row: Row) => string;
  /** Called after some rows were changed. */
  readonly onDone: () => unknown;
}

/** Bulk actions for the selected rows; sticky while any row is selected. */
export function BulkBar<Row>({ selection, actions, nameOf, onDone }: BulkBarProps<Row>) {
  const { t } = useTranslation('list');
  const [open, setOpen] = useState<string>();
  if (selection.rows.length === 0) return null;
  const action = actions.find(({ id }) => id === open);
  const rowsOf = ({ appliesTo = () => true }: BulkAction<Row>) => selection.rows.filter(appliesTo);
  return (
    <Group className="selection-bar" role="region" aria-label={t('selection')} justify="space-between" gap="xs">
      <Text size="sm" fw={600} role="status">
        {t('selected', { count: selection.rows.length })}
      </Text>
      <Group gap="xs">
        {actions.map((each) => (
          <Button
            key={each.id}
            size="xs"
            variant="default"
            disabled={rowsOf(each).length === 0}
            onClick={() => setOpen(each.id)}
          >
            {each.label}
          </Button>
        ))}
        <Button size="xs" variant="subtle" onClick={selection.clear}>
          {t('clearSelection')}
        </Button>
      </Group>
      {action === undefined ? null : (
        <Suspense>
          <BulkDialog
            action={action as BulkAction<unknown>}
            rows={rowsOf(action)}
            leftOut={selection.rows.length - rowsOf(action).length}
            nameOf={nameOf as (row: unknown) => string}
            onClose={(succeeded) => {
              setOpen(undefined);
              selection.set(succeeded as readonly Row[], false);
              if (succeeded.length > 0) onDone();
            }}
          />
        </Suspense>
      )}
    </Group>
  );
}
