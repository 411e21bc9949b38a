import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminExportCodes } from '../../../../contract/packages.ts';
import { send } from '../../../data/client.ts';
import { toMessage } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { saveFile } from '../frame/save-file.ts';

interface ExportCodesProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

export function ExportCodes({ filter, total }: ExportCodesProps) {
  const { t } = useTranslation(['plans', 'shell']);
  const notices = useNotices();
  const save = useMutation({
    mutationFn: async () => {
      const response = await send(adminExportCodes, { query: filter as never });
      saveFile('redemption-codes.csv', await response.blob());
    },
    onSuccess: () => notices.done(t('codes.exported')),
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      disabled={total === 0}
      loading={save.isPending}
      onClick={() => save.mutate()}
    >
      {t('codes.export')}
    </Button>
  );
}
