"""The addresses of accounts and teams."""

from django.urls import URLPattern, URLResolver, path

from planner.accounts.views import account, devices, login, members, password, signup, teams, tokens

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", account.account, name="account"),
    path("accounts/name/", account.name, name="account-name"),
    path("accounts/address/", account.address, name="account-address"),
    path("accounts/address/<str:proof>/", account.address_confirm, name="account-address-confirm"),
    path("accounts/signup/", signup.signup, name="signup"),
    path("accounts/signup/<str:proof>/", signup.confirm, name="signup-confirm"),
    path("accounts/login/", login.login, name="login"),
    path("accounts/logout/", login.logout, name="logout"),
    path("accounts/password/", password.change, name="password-change"),
    path("accounts/reset/", password.reset, name="password-reset"),
    path("accounts/reset/<uidb64>/<token>/", password.confirm, name="password-reset-confirm"),
    path("accounts/delete/", account.delete, name="account-delete"),
    path("accounts/tokens/", tokens.tokens, name="tokens"),
    path("accounts/tokens/<int:token_id>/revoke/", tokens.revoke, name="token-revoke"),
    path("invitations/<secret:secret>/", members.invitation, name="invitation"),
    path("teams/", teams.teams, name="teams"),
    path("teams/<key:team_id>/", teams.team, name="team"),
    path("teams/<key:team_id>/rename/", teams.rename, name="team-rename"),
    path("teams/<key:team_id>/delete/", teams.delete, name="team-delete"),
    path("teams/<key:team_id>/leave/", teams.leave, name="team-leave"),
    path("teams/<key:team_id>/invitations/", members.invite, name="team-invite"),
    path("teams/<key:team_id>/invitations/<int:invitation_id>/", members.uninvite, name="team-uninvite"),
    path("teams/<key:team_id>/members/<int:member_id>/", members.member, name="team-member"),
    path("teams/<key:team_id>/devices/", devices.device, name="team-device"),
    path("teams/<key:team_id>/prices.csv", devices.prices, name="team-prices"),
    path("teams/<key:team_id>/devices/<int:device_id>/", devices.remove, name="team-device-remove"),
]
