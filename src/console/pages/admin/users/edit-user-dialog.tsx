import { PasswordInput, Select, Switch, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminChangeUser } from '../../../../contract/account-admin.ts';
import { ROLES, type Role } from '../../../../contract/roles.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { useMayManage } from '../../../data/names.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import type { User } from './user-page.tsx';

/** Sends only what was changed, so that two administrators do not undo each other's work. */
export function EditUserDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const mayGive = useMayManage();
  const old = { display_name: user.display_name, email: user.email, role: user.role, status: user.status };
  const [form, setForm] = useState({ ...old, password: '' });
  const set = (part: Partial<typeof form>): void => setForm((known) => ({ ...known, ...part }));
  const save = useMutation({
    mutationFn: () => {
      const body = {
        ...(form.display_name === old.display_name ? {} : { display_name: form.display_name }),
        ...(form.email === old.email ? {} : { email: form.email }),
        ...(form.role === old.role ? {} : { role: form.role }),
        ...(form.status === old.status ? {} : { status: form.status === 1 ? (1 as const) : (2 as const) }),
        ...(form.password === '' ? {} : { password: form.password }),
      };
      return call(adminChangeUser, { params: { id: String(user.id) }, body });
    },
    onSuccess: async () => {
      await refresh();
      notices.done(t('shell:saved'));
      onClose();
    },
  });
  return (
    <Dialog
      title={t('users.editTitle', { name: user.username })}
      action={t('shell:save')}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={t('users.displayName')}
        maxLength={60}
        required={old.display_name !== ''}
        data-autofocus
        value={form.display_name}
        onChange={(event) => set({ display_name: event.currentTarget.value })}
      />
      <TextInput
        label={t('users.email')}
        type="email"
        value={form.email}
        onChange={(event) => set({ email: event.currentTarget.value })}
      />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? form.role) as Role })}
        allowDeselect={false}
      />
      <PasswordInput
        label={t('users.newPassword')}
        description={t('users.newPasswordHint')}
        autoComplete="new-password"
        minLength={8}
        maxLength={128}
        value={form.password}
        onChange={(event) => set({ password: event.currentTarget.value })}
      />
      <Switch
        label={t('users.maySignIn')}
        description={t('users.maySignInHint')}
        checked={form.status === 1}
        onChange={(event) => set({ status: event.currentTarget.checked ? 1 : 2 })}
      />
    </Dialog>
  );
}
