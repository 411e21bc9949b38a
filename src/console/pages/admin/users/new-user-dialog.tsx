import { Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ROLES, type Role } from '../../../../contract/account-fields.ts';
import { adminCreateUser } from '../../../../contract/admin-accounts.ts';
import { AmountInput } from '../../../components/amount-input.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { NewPasswordInput } from '../../../components/new-password-input.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/credits-to-quota.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { useStatus } from '../../../data/signed-in-user-and-site-queries.ts';
import { useCanManageRole } from '../../../data/use-can-manage-user.ts';

const EMPTY_FORM = {
  username: '',
  password: '',
  email: '',
  role: 'user' as Role,
  credits: '' as number | string,
};

/** Creates an account for another user and opens its page afterwards. */
export function NewUserDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const perUnit = useStatus().data?.quota_per_unit;
  const invalidate = useInvalidateQueries();
  const mayGive = useCanManageRole();
  const navigate = useNavigate();
  const { draft: form, set, text, value } = useFormValues(EMPTY_FORM);
  const make = useMutation({
    mutationFn: async () => {
      const { username, password, role, email, credits } = form;
      const body = {
        username,
        password,
        role,
        email: email || undefined,
        quota: credits === '' ? undefined : creditsToQuota(Number(credits), perUnit),
      };
      return (await callApi(adminCreateUser, { body })).data.id;
    },
    onSuccess: async (id) => {
      await invalidate();
      onClose();
      await navigate({ to: '/admin/users/$id', params: { id: String(id) } });
    },
  });
  return (
    <FormDialog title={t('users.make')} submitLabel={t('users.make')} save={make} onClose={onClose}>
      <TextInput
        label={t('users.username')}
        description={t('users.usernameHint')}
        pattern="[a-z0-9_\-]{3,30}"
        autoCapitalize="none"
        required
        data-autofocus
        {...text('username')}
      />
      <NewPasswordInput
        label={t('users.password')}
        description={t('users.passwordHint')}
        required
        {...text('password')}
      />
      <TextInput label={`${t('users.email')} (${t('app:optional')})`} type="email" {...text('email')} />
      <Select
        label={t('users.role')}
        description={t(`roleHints.${form.role}`)}
        data={ROLES.filter(mayGive).map((value) => ({ value, label: t(`roles.${value}`) }))}
        value={form.role}
        onChange={(role) => set({ role: (role ?? 'user') as Role })}
        allowDeselect={false}
      />
      <AmountInput label={t('users.startBalance')} placeholder={t('app:optional')} {...value('credits')} />
    </FormDialog>
  );
}
