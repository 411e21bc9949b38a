import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listLedger } from '../../../../contract/ledger.ts';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { downloadRowsAsCsv } from '../../../data/download-rows-as-csv.ts';

interface ExportLedgerProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

const PAGE_SIZE = 50;
/** Above this limit, a query of the database is the better tool. */
const MAX_ROWS = 20_000;
const COLUMNS = ['id', 'created_time', 'user_id', 'kind', 'amount', 'task_id', 'request_id'] as const;

/** The list as it is filtered, as a table for other programs; amounts in quota. */
export function ExportLedger({ filter, total }: ExportLedgerProps) {
  const { t } = useTranslation(['admin', 'app']);
  const toasts = useToasts();
  const [count, setCount] = useState(0);
  const save = useMutation({
    mutationFn: async () => {
      const rows = new Map<number, readonly (string | number)[]>();
      let after: string | undefined | null;
      while (rows.size < MAX_ROWS && after !== null) {
        const query = { ...filter, after, page_size: String(PAGE_SIZE) };
        const { data, next } = await callApi(listLedger, { query });
        for (const { created_time: at, ...row } of data) {
          const values = { ...row, created_time: new Date(at * 1000).toISOString() };
          rows.set(
            row.id,
            COLUMNS.map((name) => values[name]),
          );
        }
        setCount(rows.size);
        after = next;
      }
      await downloadRowsAsCsv('ledger.csv', COLUMNS, [...rows.values()]);
      return { count: rows.size, isPart: after !== null };
    },
    onSuccess: ({ count: saved, isPart }) =>
      toasts.success(t(isPart ? 'ledger.exportedPart' : 'ledger.exported', { count: saved })),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      disabled={total === 0 || save.isPending}
      onClick={() => save.mutate()}
    >
      {save.isPending ? t('ledger.exporting', { count }) : t('ledger.export')}
    </Button>
  );
}
