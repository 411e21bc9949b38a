import { Button, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminUpdateRedemptionCode, adminVoidRedemptionCode } from '../../../../contract/plans.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { useSaveAndClose } from '../../../components/use-save-and-close.ts';
import type { CodeListItem } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatDateField, toEndOfDay } from '../../../data/date-field-conversion.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';

/** What can still be done with a code: an expired one may be given more time, an unused one withdrawn. */
export function CodeActions({ code }: { readonly code: CodeListItem }) {
  const { t } = useTranslation('admin-redemption-codes');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const [changingExpiry, setProlonging] = useState(false);
  if (code.status === 'used' || code.status === 'voided') return null;
  const revoke = async (): Promise<void> => {
    await callApi(adminVoidRedemptionCode, { params: { id: String(code.id) } });
    await invalidate();
    toasts.success(t('voided', { count: 1 }));
  };
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setProlonging(true)}>
        {t('prolong')}
      </Button>
      {code.status === 'unused' ? (
        <ConfirmDialog
          title={t('voidTitle', { code: code.code })}
          confirmLabel={t('void')}
          onConfirm={revoke}
          trigger={(open) => (
            <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
              {t('void')}
            </Button>
          )}
        >
          {t('voidText')}
        </ConfirmDialog>
      ) : null}
      {changingExpiry ? <ExpiryDialog code={code} onClose={() => setProlonging(false)} /> : null}
    </Group>
  );
}

function ExpiryDialog({ code, onClose }: { readonly code: CodeListItem; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin-redemption-codes', 'app']);
  const [day, setDay] = useState(formatDateField(code.expires_at));
  const save = useSaveAndClose(
    () =>
      callApi(adminUpdateRedemptionCode, { params: { id: String(code.id) }, body: { expires_at: toEndOfDay(day) } }),
    { onClose },
  );
  return (
    <FormDialog
      title={t('prolongTitle', { code: code.code })}
      submitLabel={t('app:save')}
      save={save}
      onClose={onClose}
    >
      <TextInput
        type="date"
        label={t('expires')}
        description={t('expiresHint')}
        data-autofocus
        value={day}
        onChange={(event) => setDay(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
