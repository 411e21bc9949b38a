import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listLedger } from '../../../../contract/usage.ts';
import { call } from '../../../data/client.ts';
import { toMessage } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { saveCsv } from '../frame/save-csv.ts';

interface ExportLedgerProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

const STEP = 50;
/** Beyond it the database is the better place to ask. */
const MOST = 20_000;
const COLUMNS = ['id', 'created_time', 'user_id', 'kind', 'amount', 'task_id', 'request_id'] as const;

/** The list as it is filtered, as a table for other programs; amounts in quota. */
export function ExportLedger({ filter, total }: ExportLedgerProps) {
  const { t } = useTranslation(['admin', 'shell']);
  const notices = useNotices();
  const [count, setCount] = useState(0);
  const save = useMutation({
    mutationFn: async () => {
      const rows = new Map<number, readonly (string | number)[]>();
      for (let page = 1; rows.size < MOST; page += 1) {
        const query = { ...filter, page: String(page), page_size: String(STEP) } as never;
        const { data } = await call(listLedger, { query });
        // Entries made meanwhile push known ones onto the next page: the number keeps each once.
        for (const { created_time: at, ...row } of data) {
          const values = { ...row, created_time: new Date(at * 1000).toISOString() };
          rows.set(
            row.id,
            COLUMNS.map((name) => values[name]),
          );
        }
        setCount(rows.size);
        if (data.length < STEP) break;
      }
      await saveCsv('ledger.csv', COLUMNS, [...rows.values()]);
      return rows.size;
    },
    onSuccess: (saved) =>
      notices.done(t(saved < total ? 'ledger.exportedPart' : 'ledger.exported', { count: saved, total })),
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
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
