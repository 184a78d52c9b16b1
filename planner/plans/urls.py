"""The addresses of saved plans and of shared links."""

from django.urls import URLPattern, URLResolver, path

from planner.plans.views import comments, compare, lists, plan, saving, shared, shares, versions

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/plans.json", lists.export, name="account-export"),
    path("plans/", lists.plans, name="plans"),
    path("plans/new/", saving.new, name="plan-new"),
    path("plans/compare/", compare.compare, name="plan-compare"),
    path("plans/<key:plan_id>/", plan.plan, name="plan"),
    path("plans/<key:plan_id>/edit/", saving.edit, name="plan-edit"),
    path("plans/<key:plan_id>/files.zip", plan.files, name="plan-files"),
    path("plans/<key:plan_id>/copy/", plan.copy, name="plan-copy"),
    path("plans/<key:plan_id>/move/", plan.move, name="plan-move"),
    path("plans/<key:plan_id>/delete/", plan.delete, name="plan-delete"),
    path("plans/<key:plan_id>/versions/", versions.versions, name="plan-versions"),
    path("plans/<key:plan_id>/versions/<int:number>/", versions.version, name="plan-version"),
    path("plans/<key:plan_id>/versions/<int:number>/restore/", versions.restore, name="plan-restore"),
    path("plans/<key:plan_id>/versions/<int:number>/approve/", versions.approve, name="plan-approve"),
    path("plans/<key:plan_id>/comments/", comments.comment, name="plan-comment"),
    path("plans/<key:plan_id>/comments/<int:comment_id>/", comments.uncomment, name="plan-uncomment"),
    path("plans/<key:plan_id>/share/", shares.share, name="plan-share"),
    path("plans/<key:plan_id>/share/<int:link_id>/", shares.unshare, name="plan-unshare"),
    path("s/<secret:secret>/", shared.shared, name="share"),
    path("s/<secret:secret>/files.zip", shared.files, name="share-files"),
    path("s/<secret:secret>/copy/", shared.copy, name="share-copy"),
]
