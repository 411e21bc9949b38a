import { Button, Group, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminChangeCode, adminVoidCode } from '../../../../contract/packages.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { toDayField, toEndOfDay } from '../../../data/days.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import type { CodeRow } from './codes-page.tsx';

/** What can still be done with a code: an expired one may be given more time, an unused one withdrawn. */
export function CodeActions({ code }: { readonly code: CodeRow }) {
  const { t } = useTranslation('plans');
  const refresh = useRefresh();
  const notices = useNotices();
  const [prolonging, setProlonging] = useState(false);
  if (code.status === 'used' || code.status === 'voided') return null;
  const withdraw = async (): Promise<void> => {
    await call(adminVoidCode, { params: { id: String(code.id) } });
    await refresh();
    notices.done(t('codes.voided', { count: 1 }));
  };
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setProlonging(true)}>
        {t('codes.prolong')}
      </Button>
      {code.status === 'unused' ? (
        <Confirm
          title={t('codes.voidTitle', { code: code.code })}
          action={t('codes.void')}
          onConfirm={withdraw}
          trigger={(open) => (
            <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
              {t('codes.void')}
            </Button>
          )}
        >
          {t('codes.voidText')}
        </Confirm>
      ) : null}
      {prolonging ? <EndDialog code={code} onClose={() => setProlonging(false)} /> : null}
    </Group>
  );
}

function EndDialog({ code, onClose }: { readonly code: CodeRow; readonly onClose: () => void }) {
  const { t } = useTranslation(['plans', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const [day, setDay] = useState(toDayField(code.expires_at));
  const save = useMutation({
    mutationFn: () => call(adminChangeCode, { params: { id: String(code.id) }, body: { expires_at: toEndOfDay(day) } }),
    onSuccess: async () => {
      await refresh();
      notices.done(t('shell:saved'));
      onClose();
    },
  });
  return (
    <Dialog
      title={t('codes.prolongTitle', { code: code.code })}
      action={t('shell:save')}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <TextInput
        type="date"
        label={t('codes.expires')}
        description={t('codes.expiresHint')}
        data-autofocus
        value={day}
        onChange={(event) => setDay(event.currentTarget.value)}
      />
    </Dialog>
  );
}
