import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminExportRedemptionCodes } from '../../../../contract/plans.ts';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { sendRequest } from '../../../data/api-client.ts';
import { downloadFile } from '../../../data/download-file.ts';

interface ExportCodesProps {
  readonly filter: Readonly<Record<string, string | undefined>>;
  readonly total: number;
}

export function ExportCodes({ filter, total }: ExportCodesProps) {
  const { t } = useTranslation(['admin-redemption-codes', 'app']);
  const toasts = useToasts();
  const save = useMutation({
    mutationFn: async () => {
      const response = await sendRequest(adminExportRedemptionCodes, { query: filter });
      downloadFile('redemption-codes.csv', await response.blob());
    },
    onSuccess: () => toasts.success(t('exported')),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <Button
      variant="default"
      leftSection={<IconDownload size={16} />}
      disabled={total === 0}
      loading={save.isPending}
      onClick={() => save.mutate()}
    >
      {t('export')}
    </Button>
  );
}
