dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl MPICH's choice of a datatype engine, in the fork: heddle (the default) or MPICH's own dataloop. The
dnl top-level build says in HEDDLE_LA where libheddle's libtool library lies, or will lie before MPICH is made.

AC_DEFUN([PAC_SUBCFG_PREREQ_]PAC_SUBCFG_AUTO_SUFFIX,[])

AC_DEFUN([PAC_SUBCFG_BODY_]PAC_SUBCFG_AUTO_SUFFIX,[
AC_ARG_WITH([datatype-engine],
            [AS_HELP_STRING([--with-datatype-engine={heddle|dataloop|auto}],[datatype engine to use (auto: heddle)])],
            [],[with_datatype_engine=auto])
AC_ARG_VAR([HEDDLE_LA],[libtool library of the Heddle engine, as the top-level build makes it])
AC_SUBST([heddlelib],[])
heddle_wrapper_libs=
AS_CASE([$with_datatype_engine],
    [heddle|auto],[
        with_datatype_engine=heddle
        AC_DEFINE([MPICH_DATATYPE_ENGINE],[MPICH_DATATYPE_ENGINE_HEDDLE],[Datatype engine])
        AS_CASE([$HEDDLE_LA], [*.la], [],
              [AC_MSG_ERROR([HEDDLE_LA="$HEDDLE_LA" names no libtool library. The top-level configure and make of Heddle build the engine and pass it here; to configure MPICH by hand, give HEDDLE_LA=/path/to/libheddle.la])])
        heddlelib=$HEDDLE_LA
        heddle_wrapper_libs="-lheddle -lstdc++"
    ],
    [dataloop],[AC_DEFINE([MPICH_DATATYPE_ENGINE],[MPICH_DATATYPE_ENGINE_DATALOOP])],
    [AC_MSG_ERROR([no datatype engine "$with_datatype_engine" in this fork of MPICH: choose heddle or dataloop])])
AM_CONDITIONAL([BUILD_HEDDLE_ENGINE],[test "$with_datatype_engine" = heddle])
AM_CONDITIONAL([BUILD_DATALOOP_ENGINE],[test "$with_datatype_engine" = dataloop])

dnl MPICH links its library with WRAPPER_LIBS, and so do the wrapper compilers where they link statically.
dnl The library needs libheddle by its path in the build tree, programs by its name: so the two part here,
dnl when all the rest of configure has had its say.
AC_SUBST([mpich_external_libs])
AC_CONFIG_COMMANDS_PRE([
    mpich_external_libs=$WRAPPER_LIBS
    WRAPPER_LIBS="$heddle_wrapper_libs $WRAPPER_LIBS"
])

dnl MPICH's top-level Makefile.am names yaksa's parts: there are none.
AC_SUBST([yaksasrcdir],[])
AC_SUBST([yaksalibdir],[])
AC_SUBST([yaksalib],[])
])
