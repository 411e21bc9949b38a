import { NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminMakeUser } from '../../../../contract/account-admin.ts';
import { ROLES, type Role } from '../../../../contract/roles.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { toQuota } from '../../../data/money.ts';
import { useMayManage } from '../../../data/names.ts';
import { useStatus } from '../../../data/queries.ts';
import { Dialog } from '../../../parts/dialog.tsx';

/** An account made for somebody; its page opens afterwards. */
export function NewUserDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'shell']);
  const perUnit = useStatus().data?.quota_per_unit;
  const refresh = useRefresh();
  const mayGive = useMayManage();
  const navigate = useNavigate();
  const [form, setForm] = useState({
    username: '',
    password: '',
    email: '',
    role: 'user' as Role,
    credits: '' as number | string,
  });
  const set = (part: Partial<typeof form>): void => setForm((known) => ({ ...known, ...part }));
  const make = useMutation({
    mutationFn: async () => {
      const { username, password, role, email, credits } = form;
      const body = {
        username,
        password,
        role,
        ...(email === '' ? {} : { email }),
        ...(credits === '' ? {} : { quota: toQuota(Number(credits), perUnit) }),
      };
      return (await call(adminMakeUser, { body })).data.id;
    },
    onSuccess: async (id) => {
      await refresh();
      onClose();
      await navigate({ to: `/admin/users/${id}` as string });
    },
  });
  return (
    <Dialog
      title={t('users.make')}
      action={t('users.make')}
      busy={make.isPending}
      error={make.error}
      onSubmit={() => make.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={t('users.username')}
        description={t('users.usernameHint')}
        pattern="[a-z0-9_\-]{3,30}"
        autoCapitalize="none"
        required
        data-autofocus
        value={form.username}
        onChange={(event) => set({ username: event.currentTarget.value })}
      />
      <PasswordInput
        label={t('users.password')}
        description={t('users.passwordHint')}
        autoComplete="new-password"
        minLength={8}
        maxLength={128}
        required
        value={form.password}
        onChange={(event) => set({ password: event.currentTarget.value })}
      />
      <TextInput
        label={`${t('users.email')} (${t('shell:optional')})`}
        type="email"
        value={form.email}
        onChange={(event) => set({ email: event.currentTarget.value })}
      />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? 'user') as Role })}
        allowDeselect={false}
      />
      <NumberInput
        label={`${t('users.startBalance')} (${t('shell:optional')})`}
        min={0}
        decimalScale={4}
        hideControls
        value={form.credits}
        onChange={(credits) => set({ credits })}
      />
    </Dialog>
  );
}
