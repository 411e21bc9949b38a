import { Button, Group, Loader, ScrollArea, Stack, Text } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../dialog.tsx';
import { toErrorMessage } from '../error-alert.tsx';

interface BulkDialogProps {
  readonly action: BulkAction<unknown>;
  /** Rows at the time the dialog opened; the list behind it may change meanwhile. */
  readonly rows: readonly unknown[];
  /** Number of selected rows to which the action does not apply. */
  readonly leftOut: number;
  readonly nameOf: (row: unknown) => string;
  /** @param succeeded rows whose request succeeded */
  readonly onClose: (succeeded: readonly unknown[]) => void;
}

type Result = 'running' | 'done' | { readonly error: unknown };

/** Asks for confirmation, sends one request per row, and shows each result. */
export default function BulkDialog({ action, rows: given, leftOut, nameOf, onClose }: BulkDialogProps) {
  const { t } = useTranslation(['list', 'app']);
  const [rows] = useState(given);
  const [results, setResults] = useState<readonly Result[]>([]);
  const isBusy = results.includes('running');
  const isOver = results.length === rows.length && !isBusy;
  const failed = results.filter((result) => typeof result === 'object').length;
  const run = async (): Promise<void> => {
    // Sequential: selecting a thousand users must not send a thousand requests at once.
    for (const [index, row] of rows.entries()) {
      const note = (result: Result): void => setResults((before) => [...before.slice(0, index), result]);
      note('running');
      await action.run(row).then(
        () => note('done'),
        (error: unknown) => note({ error }),
      );
    }
  };
  const close = (): void => {
    if (!isBusy) onClose(rows.filter((_, index) => results[index] === 'done'));
  };
  return (
    <Dialog onClose={close} isBusy={isBusy} title={`${action.label} · ${t('selected', { count: rows.length })}`}>
      <Stack>
        <Text size="sm">
          {action.text}
          {leftOut > 0 ? ` ${t('leftOut', { count: leftOut })}` : ''}
        </Text>
        <ScrollArea.Autosize mah={300} viewportProps={{ tabIndex: 0, 'aria-label': t('results'), role: 'region' }}>
          <Stack gap={4} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
            {rows.map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list is fixed when the dialog opens
              <ResultRow key={index} name={nameOf(row)} result={results[index]} />
            ))}
          </Stack>
        </ScrollArea.Autosize>
        {isOver ? (
          <Text size="sm" fw={600} role="status">
            {t('bulkDone', { done: rows.length - failed, failed })}
          </Text>
        ) : null}
        <Group justify="flex-end">
          {isOver ? (
            <Button onClick={close}>{t('app:close')}</Button>
          ) : (
            <>
              <Button variant="default" onClick={close} disabled={isBusy} data-autofocus>
                {t('app:cancel')}
              </Button>
              <Button
                loading={isBusy}
                color={action.isDangerous === true ? 'red.8' : 'accent'}
                onClick={() => void run()}
              >
                {t('bulkRun', { action: action.label, count: rows.length })}
              </Button>
            </>
          )}
        </Group>
      </Stack>
    </Dialog>
  );
}

function ResultRow({ name, result }: { readonly name: string; readonly result: Result | undefined }) {
  const { t } = useTranslation(['list', 'app']);
  return (
    <Group component="li" justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {name}
      </Text>
      {result === undefined ? null : result === 'running' ? (
        <Loader size="xs" />
      ) : result === 'done' ? (
        <Text size="sm" c="var(--mantine-color-teal-light-color)" component="span">
          <IconCheck size={16} aria-hidden /> {t('rowDone')}
        </Text>
      ) : (
        <Text size="sm" c="var(--mantine-color-error)" component="span" ta="right">
          <IconX size={16} aria-hidden /> {toErrorMessage(result.error, t('app:unreachable'))}
        </Text>
      )}
    </Group>
  );
}

/** An action on the selected rows, with one request per row. */
export interface BulkAction<Row> {
  readonly id: string;
  readonly label: string;
  /** Description of the effect, shown before confirmation. */
  readonly text: string;
  /** Filters out rows for which the action makes no sense; default: keeps all. */
  readonly appliesTo?: (row: Row) => boolean;
  readonly run: (row: Row) => Promise<unknown>;
  readonly isDangerous?: boolean;
}
