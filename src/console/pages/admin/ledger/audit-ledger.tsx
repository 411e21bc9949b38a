import { Alert, Button, Code, List, Text } from '@mantine/core';
import { IconScale } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { checkLedger } from '../../../../contract/ledger.ts';
import { Dialog } from '../../../components/dialog.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { callApi } from '../../../data/api-client.ts';

/** Runs the audit of the ledger (every balance is the sum of its entries) and shows its result. */
export function AuditLedger() {
  const { t } = useTranslation('admin');
  const check = useMutation({ mutationFn: async () => (await callApi(checkLedger, {})).data });
  const result = check.data;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconScale size={16} />}
        loading={check.isPending}
        onClick={() => check.mutate()}
      >
        {t('ledger.check')}
      </Button>
      {result === undefined && check.error === null ? null : (
        <Dialog onClose={check.reset} title={t('ledger.check')}>
          <ErrorAlert error={check.error} />
          {result?.ok === true ? <Alert color="teal">{t('ledger.checkOk')}</Alert> : null}
          {result?.ok === false ? (
            <Alert color="red" title={t('ledger.checkFailed')}>
              <List size="sm">
                {result.errors.map(({ rule, at, expected, found }) => (
                  <List.Item key={`${rule} ${at}`}>
                    <Code>{rule}</Code> {at}
                    <Text size="xs">{t('ledger.difference', { expected, found })}</Text>
                  </List.Item>
                ))}
              </List>
            </Alert>
          ) : null}
        </Dialog>
      )}
    </>
  );
}
